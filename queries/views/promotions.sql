-- One row per model, token, side and neuron that lists the token among its most promoted or suppressed.
-- Why: start from a token here; the rows lie by side and token, so a condition on token_id, token or word is quick.
-- A coefficient below 0, as gated neurons have, turns the sides: the neuron then promotes what is suppressed here.
-- From: store.postings. Source: Geva et al. 2022, section 4.
-- Kinds of rows: side.
-- key: model, token_id, side, layer, neuron
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   token_id: Id of the token.
--   token: Exact text of the token.
--   word: Text without surrounding white space, case-folded.
--   side: promoted or suppressed.
--   rank: Place of the token in the neuron's list, 1-based.
--   score: Raw score of the token: unembedding row times value vector.
--   z_score: Score minus the neuron's mean score, over its standard deviation: comparable between neurons and models.
--   corpus_count: Counted positions of the model's shown corpus that hold the token; null before any text was measured.
with shown as (
    select
        model_id,
        corpus_id,
    from measured_corpora
    where is_shown
),
counts as (
    select
        corpus_id,
        token_id,
        cast(sum(n_occurrences) as bigint) as n_occurrences,
    from store.token_counts
    group by corpus_id, token_id
)
select
    models.name as model,
    postings.layer,
    postings.neuron,
    models.name || '/L' || cast(postings.layer as varchar) || 'N' || cast(postings.neuron as varchar) as address,
    (cast(postings.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    postings.token_id,
    tokens.text as token,
    tokens.word,
    cast(postings.side as varchar) as side,
    postings.rank,
    cast(postings.score as double) as score,
    cast(postings.z_score as double) as z_score,
    case when shown.corpus_id is not null then coalesce(counts.n_occurrences, 0) end as corpus_count,
from store.postings as postings
inner join store.models as models on models.model_id = postings.set_id
inner join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = postings.token_id
left join shown on shown.model_id = postings.set_id
left join counts on counts.corpus_id = shown.corpus_id and counts.token_id = postings.token_id
