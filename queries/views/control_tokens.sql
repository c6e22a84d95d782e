-- One row per model, control vector, side and rank: the tokens that a vector other than a neuron promotes and suppresses.
-- Why: what neurons are compared with: a list that looks meaningful may look so for a random vector too. From: the lists
-- in store.controls and store.control_coherences. Source: Geva et al. 2022, section 4.1.
-- Kinds of rows: kind; side.
-- key: model, layer, kind, control_id, side, rank
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   kind: random: coordinates drawn like those of the layer's value vectors; ffn_update: an output of the layer's FFN.
--   control_id: Number of the control within its layer and kind, 0-based.
--   side: promoted or suppressed.
--   rank: Place of the token in the list, 1-based: the highest score first, or the lowest.
--   token_id: Id of the token.
--   token: Exact text of the token.
--   score: Raw score of the token: unembedding row times vector.
--   z_score: Score minus the vector's mean score, over its standard deviation; null where all scores are equal.
--   coherence_percentile: Share of the layer's random vectors that are less coherent on the shown corpus, in percent; null for an FFN update of another corpus.
with listed as (
    select
        model_id,
        layer,
        kind,
        control_id,
        'promoted' as side,
        score_mean,
        score_sd,
        top_token_ids as token_ids,
        top_scores as scores,
        unnest(generate_series(1, array_length(top_token_ids))) as rank,
    from store.controls
    union all
    select
        model_id,
        layer,
        kind,
        control_id,
        'suppressed' as side,
        score_mean,
        score_sd,
        bottom_token_ids as token_ids,
        bottom_scores as scores,
        unnest(generate_series(1, array_length(bottom_token_ids))) as rank,
    from store.controls
),
places as (
    select
        model_id,
        layer,
        kind,
        control_id,
        side,
        cast(rank as smallint) as rank,
        score_mean,
        score_sd,
        list_extract(token_ids, rank) as token_id,
        cast(list_extract(scores, rank) as double) as score,
    from listed
),
coherences as (
    select
        found.model_id,
        found.layer,
        found.kind,
        found.control_id,
        found.coherence_percentile,
    from store.control_coherences as found
    inner join measured_corpora as measured
        on measured.model_id = found.model_id and measured.corpus_id = found.corpus_id
    inner join store.controls as controls
        on
            controls.model_id = found.model_id
            and controls.layer = found.layer
            and controls.kind = found.kind
            and controls.control_id = found.control_id
    -- FFN updates come from a text: those of the last one measured are kept, and another text's coherence is not theirs.
    where measured.is_shown and (found.kind <> 'ffn_update' or found.run_id = controls.run_id)
)
select
    models.name as model,
    places.layer,
    places.kind,
    places.control_id,
    places.side,
    places.rank,
    places.token_id,
    tokens.text as token,
    places.score,
    (places.score - places.score_mean) / nullif(places.score_sd, 0) as z_score,
    coherences.coherence_percentile,
from places
inner join store.models as models on models.model_id = places.model_id
inner join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = places.token_id
left join coherences
    on coherences.model_id = places.model_id and coherences.layer = places.layer
    and coherences.kind = places.kind and coherences.control_id = places.control_id
