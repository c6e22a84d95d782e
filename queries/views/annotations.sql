-- One row per annotation: a concept that an annotator names in a vector's highest tokens, or the statement that there is none.
-- Why: what people see in neurons, and what the same people see in vectors that are not neurons. From: store.annotations.
-- Source: Geva et al. 2022, section 4. An annotator's latest judgement of a vector counts: merged warehouses may hold
-- earlier ones.
-- Kinds of rows: condition; is_latest, because earlier judgements are kept; concept, null where the annotator finds none.
-- key: annotation_id
-- columns:
--   annotation_id: UUID of the annotation.
--   model: Name of the model.
--   layer: Layer of the vector, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   condition: value: a neuron's value vector; random: a random vector; ffn_update: an output of the layer's FFN.
--   neuron: Neuron within the layer, 0-based; null for a control.
--   control_id: Number of the control within its layer and kind, 0-based; null for a neuron.
--   address: Address of the neuron, e.g. opt-125m/L3N1702; null for a control.
--   concept: Name of the concept; null: the annotator finds none in the vector.
--   class: semantic, syntactic, names or stopwords-punctuation; null without a concept.
--   n_tokens: Tokens of the concept; 0 without one.
--   token_ids: Their ids, best first.
--   tokens: Their exact texts, best first; null without a concept.
--   n_shown: Tokens that the annotator saw: the 30 highest of the vector, fewer in a small vocabulary.
--   annotator: Who annotated.
--   created_at: When it was published, in UTC.
--   is_latest: Whether the annotator has not judged the same vector and tokens again since.
with places as (
    select
        annotation_id,
        model_id,
        token_ids,
        unnest(generate_series(1, array_length(token_ids))) as rank,
    from store.annotations
    where concept is not null
),
listed as (
    -- Lists over an ordered window: an ordered aggregate would lose its order in Spark.
    select
        places.annotation_id,
        list(tokens.text) over concepts as tokens,
        places.rank,
    from places
    inner join store.models as models on models.model_id = places.model_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = list_extract(places.token_ids, places.rank)
    window concepts as (
        partition by places.annotation_id
        order by places.rank
        rows between unbounded preceding and unbounded following
    )
),
latest as (
    select
        model_id,
        layer,
        condition,
        neuron,
        control_id,
        shown_token_ids,
        annotator,
        max(created_at) as created_at,
    from store.annotations
    group by model_id, layer, condition, neuron, control_id, shown_token_ids, annotator
)
select
    annotations.annotation_id,
    models.name as model,
    annotations.layer,
    (cast(annotations.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    annotations.condition,
    annotations.neuron,
    annotations.control_id,
    case
        when annotations.neuron is not null
            then models.name || '/L' || annotations.layer || 'N' || annotations.neuron
    end as address,
    annotations.concept,
    annotations.class,
    cast(array_length(annotations.token_ids) as bigint) as n_tokens,
    annotations.token_ids,
    listed.tokens,
    cast(array_length(annotations.shown_token_ids) as bigint) as n_shown,
    annotations.annotator,
    annotations.created_at,
    annotations.created_at = latest.created_at as is_latest,
from store.annotations as annotations
inner join store.models as models on models.model_id = annotations.model_id
inner join latest
    on latest.model_id = annotations.model_id
    and latest.layer = annotations.layer
    and latest.condition = annotations.condition
    and latest.neuron is not distinct from annotations.neuron
    and latest.control_id is not distinct from annotations.control_id
    and latest.shown_token_ids = annotations.shown_token_ids
    and latest.annotator = annotations.annotator
left join listed on listed.annotation_id = annotations.annotation_id and listed.rank = 1
