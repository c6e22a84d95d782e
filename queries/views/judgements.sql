-- One row per vector that was judged and annotator: the annotator's latest judgement of it.
-- Why: shares and agreement count vectors, of which one may hold several concepts or none. From: store.annotations,
-- those that the view annotations calls the latest. Source: Geva et al. 2022, section 4.
-- Kinds of rows: condition.
-- key: model, condition, layer, number, shown_token_ids, annotator
-- columns:
--   model: Name of the model.
--   condition: value: a neuron's value vector; random: a random vector; ffn_update: an output of the layer's FFN.
--   layer: Layer of the vector, 0-based.
--   number: The neuron within the layer, or the number of the control within its layer and kind, 0-based.
--   shown_token_ids: The tokens that were judged, best first: FFN updates of another text are other vectors.
--   annotator: Who annotated.
--   n_shown: Tokens that were judged.
--   n_concepts: Concepts that the annotator names; 0 where there is none.
--   has_concept: Whether there is one.
--   n_tokens: Tokens tied to any concept, each counted once.
--   n_tokens_without_stopwords: Tokens tied to a concept of another class than stopwords-punctuation.
--   created_at: When it was published, in UTC.
with latest as (
    select annotation_id
    from annotations
    where is_latest
),
counted as (
    select
        annotations.model_id,
        annotations.condition,
        annotations.layer,
        coalesce(annotations.neuron, annotations.control_id) as number,
        annotations.shown_token_ids,
        annotations.annotator,
        count(annotations.concept) as n_concepts,
        max(annotations.created_at) as created_at,
    from store.annotations as annotations
    inner join latest on latest.annotation_id = annotations.annotation_id
    group by
        annotations.model_id,
        annotations.condition,
        annotations.layer,
        coalesce(annotations.neuron, annotations.control_id),
        annotations.shown_token_ids,
        annotations.annotator
),
marked as (
    select
        annotations.model_id,
        annotations.condition,
        annotations.layer,
        coalesce(annotations.neuron, annotations.control_id) as number,
        annotations.shown_token_ids,
        annotations.annotator,
        annotations.class,
        unnest(annotations.token_ids) as token_id,
    from store.annotations as annotations
    inner join latest on latest.annotation_id = annotations.annotation_id
    where annotations.concept is not null
),
tied as (
    select
        model_id,
        condition,
        layer,
        number,
        shown_token_ids,
        annotator,
        count(distinct token_id) as n_tokens,
        count(distinct case when class <> 'stopwords-punctuation' then token_id end) as n_tokens_without_stopwords,
    from marked
    group by model_id, condition, layer, number, shown_token_ids, annotator
)
select
    models.name as model,
    counted.condition,
    counted.layer,
    counted.number,
    counted.shown_token_ids,
    counted.annotator,
    cast(array_length(counted.shown_token_ids) as bigint) as n_shown,
    counted.n_concepts,
    counted.n_concepts > 0 as has_concept,
    coalesce(tied.n_tokens, 0) as n_tokens,
    coalesce(tied.n_tokens_without_stopwords, 0) as n_tokens_without_stopwords,
    counted.created_at,
from counted
inner join store.models as models on models.model_id = counted.model_id
left join tied
    on tied.model_id = counted.model_id
    and tied.condition = counted.condition
    and tied.layer = counted.layer
    and tied.number = counted.number
    and tied.shown_token_ids = counted.shown_token_ids
    and tied.annotator = counted.annotator
