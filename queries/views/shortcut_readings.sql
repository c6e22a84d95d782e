-- One row per model, sentence, method, state and rank: the tokens that a shortcut from the state puts first, on the shown corpus.
-- Why: Table 1 of Din et al. 2023: the first state at which a shortcut predicts the model's own token, sentence by
-- sentence. From: store.shortcut_tops, store.shortcut_sentences and store.tokens, measured_corpora. Source: Din et al.
-- 2023, section 4. That the first 50 validation sentences are kept is ours.
-- Kinds of rows: method.
-- key: model, sentence_id, method, state, rank
-- columns:
--   model: Name of the model.
--   sentence_id: The sentence, 0-based, in a seeded random order.
--   domain: Domain of the sentence.
--   sentence: What the model read, up to the position whose next token is predicted; of a masked model the whole sentence.
--   method: id: the state as it is; mat: its least-squares map to the last state.
--   state: The state that the shortcut starts from; from the last one every method is the model itself.
--   depth: state / n_layers.
--   rank: Place of the token, 1-based: the largest probability first.
--   token_id: Id of the token.
--   token: Exact text of the token.
--   probability: Probability that the shortcut gives it.
--   is_model_token: Whether the token is the one that the whole model puts first.
--   model_token: Exact text of the token that the whole model puts first.
--   corpus: The shown corpus.
with shown as (
    select
        tops.model_id,
        tops.corpus_id,
        measured_corpora.corpus,
        models.name as model,
        models.tokenizer_id,
        models.n_layers,
        tops.sentence_id,
        tops.method,
        tops.state,
        tops.rank,
        tops.token_id,
        tops.probability,
    from store.shortcut_tops as tops
    inner join measured_corpora
        on measured_corpora.model_id = tops.model_id and measured_corpora.corpus_id = tops.corpus_id
    inner join store.models as models on models.model_id = tops.model_id
    where measured_corpora.is_shown
),
whole as (
    select
        model_id,
        sentence_id,
        method,
        token_id,
    from shown
    where state = n_layers and rank = 1
)
select
    shown.model,
    shown.sentence_id,
    sentences.domain,
    sentences.text as sentence,
    shown.method,
    shown.state,
    cast(shown.state as double) / shown.n_layers as depth,
    shown.rank,
    shown.token_id,
    tokens.text as token,
    shown.probability,
    shown.token_id = whole.token_id as is_model_token,
    whole_tokens.text as model_token,
    shown.corpus,
from shown
inner join whole
    on whole.model_id = shown.model_id and whole.sentence_id = shown.sentence_id and whole.method = shown.method
inner join store.shortcut_sentences as sentences
    on sentences.model_id = shown.model_id
    and sentences.corpus_id = shown.corpus_id
    and sentences.sentence_id = shown.sentence_id
inner join store.tokens as tokens
    on tokens.tokenizer_id = shown.tokenizer_id and tokens.token_id = shown.token_id
inner join store.tokens as whole_tokens
    on whole_tokens.tokenizer_id = shown.tokenizer_id and whole_tokens.token_id = whole.token_id
