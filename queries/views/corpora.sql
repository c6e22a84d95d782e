-- One row per corpus: a text cut into the ids of one tokenizer, with one sequence length and token limit.
-- Why: what the models read. From: store.corpora, store.sequences and store.runs. Source: this project.
-- key: corpus_id
-- columns:
--   corpus: Name of the corpus.
--   corpus_id: Number of the corpus in this file; one name may stand for several, one per tokenizer or length.
--   tokenizer: Name of the model its tokenizer was first seen with.
--   n_tokens: Ids without prepended BOS: the counted positions.
--   n_sequences: Number of sequences.
--   sequence_length: Longest sequence, in ids, BOS included.
--   domains: Its domains, in alphabetical order.
--   models: Models measured on it, in alphabetical order.
--   text_sha256: sha256 of the untokenized documents: equal where two tokenizers saw the same text.
--   sha256: Fingerprint over every sequence's domain, length and ids.
--   recipe: How the text was made, as JSON.
with domains as (
    select
        corpus_id,
        list_sort(list(distinct domain)) as domains,
    from store.sequences
    group by corpus_id
),
readers as (
    select
        runs.corpus_id,
        list_sort(list(distinct models.name)) as models,
    from store.runs as runs
    inner join store.models as models on models.model_id = runs.model_id
    where runs.corpus_id is not null
    group by runs.corpus_id
)
select
    corpora.name as corpus,
    corpora.corpus_id,
    tokenizers.name as tokenizer,
    corpora.n_tokens,
    corpora.n_sequences,
    corpora.sequence_length,
    domains.domains,
    readers.models,
    corpora.text_sha256,
    corpora.sha256,
    corpora.recipe,
from store.corpora as corpora
inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = corpora.tokenizer_id
left join domains on domains.corpus_id = corpora.corpus_id
left join readers on readers.corpus_id = corpora.corpus_id
