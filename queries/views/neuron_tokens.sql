-- One row per model, layer, neuron, side and rank: the tokens a neuron promotes and suppresses most.
-- Why: start from an address here; a condition on address, or on model, layer and neuron, is quick.
-- From: the lists in store.projections. Source: Geva et al. 2022, section 4.
-- Kinds of rows: side.
-- key: model, layer, neuron, side, rank
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   side: promoted or suppressed.
--   rank: Place of the token in the list, 1-based: the highest score first, or the lowest.
--   token_id: Id of the token.
--   token: Exact text of the token.
--   word: Text without surrounding white space, case-folded.
--   score: Raw score of the token: unembedding row times value vector.
--   z_score: Score minus the neuron's mean score, over its standard deviation; null where all scores are equal.
--   corpus_count: Counted positions of the model's shown corpus that hold the token; null before any text was measured.
with listed as (
    select
        set_id as model_id,
        layer,
        neuron,
        'promoted' as side,
        score_mean,
        score_sd,
        top_token_ids as token_ids,
        top_scores as scores,
        unnest(generate_series(1, array_length(top_token_ids))) as rank,
    from store.projections
    union all
    select
        set_id as model_id,
        layer,
        neuron,
        'suppressed' as side,
        score_mean,
        score_sd,
        bottom_token_ids as token_ids,
        bottom_scores as scores,
        unnest(generate_series(1, array_length(bottom_token_ids))) as rank,
    from store.projections
),
places as (
    select
        model_id,
        layer,
        neuron,
        side,
        cast(rank as smallint) as rank,
        score_mean,
        score_sd,
        list_extract(token_ids, rank) as token_id,
        cast(list_extract(scores, rank) as double) as score,
    from listed
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
    facts.layer,
    facts.neuron,
    facts.address,
    places.side,
    places.rank,
    places.token_id,
    tokens.text as token,
    tokens.word,
    places.score,
    (places.score - places.score_mean) / nullif(places.score_sd, 0) as z_score,
    case when facts.corpus_id is not null then coalesce(counts.n_occurrences, 0) end as corpus_count,
from store.neuron_facts as facts
inner join store.models as models on models.model_id = facts.set_id
inner join places
    on places.model_id = facts.set_id and places.layer = facts.layer and places.neuron = facts.neuron
inner join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = places.token_id
left join counts on counts.corpus_id = facts.corpus_id and counts.token_id = places.token_id
