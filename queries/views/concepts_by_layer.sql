-- One row per model, condition, layer and class of concept: how much of the highest tokens falls under such concepts.
-- Why: Figure 2 of Geva et al. 2022, the share of top tokens by layer and class: token_share. From: judgements and the
-- latest of annotations, all annotators together. Source: Geva et al. 2022, section 4; concepts per vector are ours. A
-- token tied to concepts of two classes counts in both. Every class has a row wherever vectors were judged, with 0 where
-- nobody named one.
-- Kinds of rows: condition; class.
-- key: model, condition, layer, class
-- columns:
--   model: Name of the model.
--   condition: value: value vectors; random: random vectors; ffn_update: outputs of whole FFNs.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   class: semantic, syntactic, names or stopwords-punctuation.
--   n_annotators: People who judged vectors of the layer.
--   n_judgements: Their judgements: a vector judged by two people counts twice.
--   n_top_tokens: Tokens that were judged.
--   n_concepts: Concepts of the class that were named.
--   concepts_per_vector: n_concepts / n_judgements; ours.
--   n_with_class: Judgements that name a concept of the class.
--   with_class_share: n_with_class / n_judgements.
--   n_tokens: Tokens tied to a concept of the class, once per judgement.
--   token_share: n_tokens / n_top_tokens: the height of Figure 2.
with classes as (
    select 'semantic' as class
    union all
    select 'syntactic' as class
    union all
    select 'names' as class
    union all
    select 'stopwords-punctuation' as class
),
judged as (
    select
        model,
        condition,
        layer,
        count(distinct annotator) as n_annotators,
        count(*) as n_judgements,
        cast(sum(n_shown) as bigint) as n_top_tokens,
    from judgements
    group by model, condition, layer
),
named as (
    select
        annotations.model,
        annotations.condition,
        annotations.layer,
        annotations.class,
        coalesce(annotations.neuron, annotations.control_id) as number,
        annotations.annotator,
        annotations.annotation_id,
        annotations.created_at,
        unnest(annotations.token_ids) as token_id,
    from annotations
    where annotations.is_latest and annotations.concept is not null
),
counted as (
    select
        model,
        condition,
        layer,
        class,
        count(distinct annotation_id) as n_concepts,
        count(distinct (number, annotator, created_at)) as n_with_class,
        count(distinct (number, annotator, created_at, token_id)) as n_tokens,
    from named
    group by model, condition, layer, class
)
select
    judged.model,
    judged.condition,
    judged.layer,
    (cast(judged.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    classes.class,
    judged.n_annotators,
    judged.n_judgements,
    judged.n_top_tokens,
    coalesce(counted.n_concepts, 0) as n_concepts,
    cast(coalesce(counted.n_concepts, 0) as double) / judged.n_judgements as concepts_per_vector,
    coalesce(counted.n_with_class, 0) as n_with_class,
    cast(coalesce(counted.n_with_class, 0) as double) / judged.n_judgements as with_class_share,
    coalesce(counted.n_tokens, 0) as n_tokens,
    cast(coalesce(counted.n_tokens, 0) as double) / judged.n_top_tokens as token_share,
from judged
cross join classes
inner join store.models as models on models.name = judged.model
left join counted
    on counted.model = judged.model
    and counted.condition = judged.condition
    and counted.layer = judged.layer
    and counted.class = classes.class
