-- One row per model, two annotators and condition, and one for all conditions: the agreement of two annotators.
-- Why: shares of concepts mean something only where others see the same; the program rules is an annotator among others.
-- From: judgements and annotations, where both judged one vector. Source: this project: kappa of Cohen 1960 on whether
-- there is a concept, and the mean overlap of the tokens that the two tie to concepts.
-- Kinds of rows: condition, where all includes the others.
-- key: model, annotator, other_annotator, condition
-- columns:
--   model: Name of the model.
--   annotator: One of the two, the first by name.
--   other_annotator: The other.
--   condition: value: value vectors; random: random vectors; ffn_update: outputs of whole FFNs; all: together.
--   n_vectors: Vectors that both judged.
--   n_both: Vectors in which both name a concept.
--   n_only_annotator: Vectors in which only the first does.
--   n_only_other: Vectors in which only the other does.
--   n_neither: Vectors in which neither does.
--   agreement: Share of the vectors on which they agree: (n_both + n_neither) / n_vectors.
--   kappa: Agreement beyond chance, at most 1, 0 by chance; null where both give every vector the same answer.
--   n_marked: Vectors in which at least one of them ties tokens to a concept.
--   mean_jaccard: Mean over these of the tokens that both tie to concepts, as a share of those that either does; null without any.
with judged as (
    select
        model,
        condition,
        layer,
        number,
        shown_token_ids,
        annotator,
        n_tokens,
        case when has_concept then 1 else 0 end as has_concept,
    from judgements
),
tied as (
    select distinct
        annotations.model_id,
        annotations.condition,
        annotations.layer,
        coalesce(annotations.neuron, annotations.control_id) as number,
        annotations.shown_token_ids,
        annotations.annotator,
        unnest(annotations.token_ids) as token_id,
    from store.annotations as annotations
    inner join annotations as shown on shown.annotation_id = annotations.annotation_id
    where annotations.concept is not null and shown.is_latest
),
shared as (
    select
        models.name as model,
        one.condition,
        one.layer,
        one.number,
        one.shown_token_ids,
        one.annotator,
        other.annotator as other_annotator,
        count(*) as n_shared,
    from tied as one
    inner join tied as other
        on other.model_id = one.model_id
        and other.condition = one.condition
        and other.layer = one.layer
        and other.number = one.number
        and other.shown_token_ids = one.shown_token_ids
        and other.token_id = one.token_id
        and other.annotator > one.annotator
    inner join store.models as models on models.model_id = one.model_id
    group by
        models.name, one.condition, one.layer, one.number, one.shown_token_ids, one.annotator, other.annotator
),
pairs as (
    select
        one.model,
        one.condition,
        one.annotator,
        other.annotator as other_annotator,
        one.has_concept,
        other.has_concept as other_has_concept,
        one.n_tokens + other.n_tokens - coalesce(shared.n_shared, 0) as n_either,
        coalesce(shared.n_shared, 0) as n_shared,
    from judged as one
    inner join judged as other
        on other.model = one.model
        and other.condition = one.condition
        and other.layer = one.layer
        and other.number = one.number
        and other.shown_token_ids = one.shown_token_ids
        and other.annotator > one.annotator
    left join shared
        on shared.model = one.model
        and shared.condition = one.condition
        and shared.layer = one.layer
        and shared.number = one.number
        and shared.shown_token_ids = one.shown_token_ids
        and shared.annotator = one.annotator
        and shared.other_annotator = other.annotator
),
conditions as (
    select
        model,
        annotator,
        other_annotator,
        condition,
        has_concept,
        other_has_concept,
        n_either,
        n_shared,
    from pairs
    union all
    select
        model,
        annotator,
        other_annotator,
        'all' as condition,
        has_concept,
        other_has_concept,
        n_either,
        n_shared,
    from pairs
),
counted as (
    select
        model,
        annotator,
        other_annotator,
        condition,
        count(*) as n_vectors,
        cast(sum(has_concept * other_has_concept) as bigint) as n_both,
        cast(sum(has_concept * (1 - other_has_concept)) as bigint) as n_only_annotator,
        cast(sum((1 - has_concept) * other_has_concept) as bigint) as n_only_other,
        cast(sum((1 - has_concept) * (1 - other_has_concept)) as bigint) as n_neither,
        count(nullif(n_either, 0)) as n_marked,
        avg(cast(n_shared as double) / nullif(n_either, 0)) as mean_jaccard,
    from conditions
    group by model, annotator, other_annotator, condition
),
expected as (
    -- By chance: the products of how often each says yes, and of how often each says no, times n_vectors squared.
    select
        model,
        annotator,
        other_annotator,
        condition,
        (n_both + n_only_annotator) * (n_both + n_only_other)
        + (n_neither + n_only_other) * (n_neither + n_only_annotator) as by_chance,
    from counted
)
select
    counted.model,
    counted.annotator,
    counted.other_annotator,
    counted.condition,
    counted.n_vectors,
    counted.n_both,
    counted.n_only_annotator,
    counted.n_only_other,
    counted.n_neither,
    cast(counted.n_both + counted.n_neither as double) / counted.n_vectors as agreement,
    cast(counted.n_vectors * (counted.n_both + counted.n_neither) - expected.by_chance as double)
    / nullif(counted.n_vectors * counted.n_vectors - expected.by_chance, 0) as kappa,
    counted.n_marked,
    counted.mean_jaccard,
from counted
inner join expected
    on expected.model = counted.model
    and expected.annotator = counted.annotator
    and expected.other_annotator = counted.other_annotator
    and expected.condition = counted.condition
