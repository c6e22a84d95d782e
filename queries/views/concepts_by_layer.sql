-- One row per model, condition, layer, annotator and class of concept: how much of the highest tokens falls under such concepts.
-- Why: Figure 2 of Geva et al. 2022, the share of top tokens by layer and class: token_share. From: judgements and the
-- latest of annotations. Source: Geva et al. 2022, section 4; concepts per vector are ours. A token tied to concepts of
-- two classes counts in both. Every class has a row wherever vectors were judged, with 0 where nobody named one. The
-- annotator rules is a program: it has rows of its own and is not among all. Intervals are ours: of shares of judgements
-- Wilson's; of shares of tokens the normal one of the mean over judgements, as tokens of one list are not independent.
-- Near 0 and 1 it may reach beyond them.
-- Kinds of rows: condition; class; annotator, where all includes the others but rules.
-- key: model, condition, layer, annotator, class
-- columns:
--   model: Name of the model.
--   condition: value: value vectors; random: random vectors; ffn_update: outputs of whole FFNs.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   annotator: Who annotated; rules: a program; all: all people, without rules.
--   class: semantic, syntactic, names or stopwords-punctuation.
--   n_annotators: Annotators who judged vectors of the layer.
--   n_judgements: Their judgements: a vector judged by two people counts twice.
--   n_top_tokens: Tokens that were judged.
--   n_concepts: Concepts of the class that were named.
--   concepts_per_vector: n_concepts / n_judgements; ours.
--   n_with_class: Judgements that name a concept of the class.
--   with_class_share: n_with_class / n_judgements.
--   with_class_share_low: Lower end of its Wilson 95% interval.
--   with_class_share_high: Upper end of it.
--   n_tokens: Tokens tied to a concept of the class, once per judgement.
--   token_share: n_tokens / n_top_tokens: the height of Figure 2.
--   token_share_low: Lower end of its normal 95% interval over judgements; null for a single one.
--   token_share_high: Upper end of it.
with thresholds as (
    select cast(1.959963984540054 as double) as normal_975,
),
classes as (
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
        number,
        shown_token_ids,
        annotator,
        annotator as person,
        n_shown,
        created_at,
    from judgements
    union all
    select
        model,
        condition,
        layer,
        number,
        shown_token_ids,
        'all' as annotator,
        annotator as person,
        n_shown,
        created_at,
    from judgements
    where annotator <> 'rules'
),
marked as (
    select
        annotations.model,
        annotations.condition,
        annotations.layer,
        annotations.class,
        coalesce(annotations.neuron, annotations.control_id) as number,
        annotations.annotator as person,
        annotations.annotation_id,
        annotations.created_at,
        unnest(annotations.token_ids) as token_id,
    from annotations
    where annotations.is_latest and annotations.concept is not null
),
named as (
    select
        model,
        condition,
        layer,
        class,
        number,
        person,
        created_at,
        count(distinct annotation_id) as n_concepts,
        count(distinct token_id) as n_tokens,
    from marked
    group by model, condition, layer, class, number, person, created_at
),
each_class as (
    select
        judged.model,
        judged.condition,
        judged.layer,
        judged.annotator,
        judged.person,
        judged.n_shown,
        classes.class,
        coalesce(named.n_concepts, 0) as n_concepts,
        coalesce(named.n_tokens, 0) as n_tokens,
    from judged
    cross join classes
    left join named
        on named.model = judged.model
        and named.condition = judged.condition
        and named.layer = judged.layer
        and named.class = classes.class
        and named.number = judged.number
        and named.person = judged.person
        and named.created_at = judged.created_at
),
summed as (
    select
        model,
        condition,
        layer,
        annotator,
        class,
        count(distinct person) as n_annotators,
        count(*) as n_judgements,
        cast(sum(n_shown) as bigint) as n_top_tokens,
        cast(sum(n_concepts) as bigint) as n_concepts,
        count(nullif(n_concepts, 0)) as n_with_class,
        cast(sum(n_tokens) as bigint) as n_tokens,
        stddev_samp(cast(n_tokens as double) / n_shown) as token_share_sd,
    from each_class
    group by model, condition, layer, annotator, class
),
shares as (
    select
        summed.model,
        summed.condition,
        summed.layer,
        summed.annotator,
        summed.class,
        summed.n_annotators,
        summed.n_judgements,
        summed.n_top_tokens,
        summed.n_concepts,
        summed.n_with_class,
        cast(summed.n_with_class as double) / summed.n_judgements as with_class_share,
        summed.n_tokens,
        cast(summed.n_tokens as double) / summed.n_top_tokens as token_share,
        thresholds.normal_975 * summed.token_share_sd / sqrt(summed.n_judgements) as half_tokens,
        power(thresholds.normal_975, 2) / summed.n_judgements as doubt,
    from summed
    cross join thresholds
)
select
    shares.model,
    shares.condition,
    shares.layer,
    (cast(shares.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    shares.annotator,
    shares.class,
    shares.n_annotators,
    shares.n_judgements,
    shares.n_top_tokens,
    shares.n_concepts,
    cast(shares.n_concepts as double) / shares.n_judgements as concepts_per_vector,
    shares.n_with_class,
    shares.with_class_share,
    (
        shares.with_class_share
        + shares.doubt / 2
        - sqrt(shares.doubt * (shares.with_class_share * (1 - shares.with_class_share) + shares.doubt / 4))
    )
    / (1 + shares.doubt) as with_class_share_low,
    (
        shares.with_class_share
        + shares.doubt / 2
        + sqrt(shares.doubt * (shares.with_class_share * (1 - shares.with_class_share) + shares.doubt / 4))
    )
    / (1 + shares.doubt) as with_class_share_high,
    shares.n_tokens,
    shares.token_share,
    shares.token_share - shares.half_tokens as token_share_low,
    shares.token_share + shares.half_tokens as token_share_high,
from shares
inner join store.models as models on models.name = shares.model
