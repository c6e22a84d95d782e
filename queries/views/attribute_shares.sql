-- One row per model, intervention, scorer, attribute and method: how many of the continuations have the attribute.
-- Why: whether changing neurons changes what the model writes, more than random neurons, a word filter and self-debiasing do.
-- From: store.attribute_scores. Source: Geva et al. 2022, section 6.1 and table 5; random sets and intervals are this project's.
-- Kinds of rows: scorer; attribute; method.
-- key: model, intervention, scorer, attribute, method
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   intervention: Name of the intervention.
--   scorer: What scored the continuations.
--   attribute: The attribute.
--   method: untouched, changed (the neurons asked for), random (random sets in their place), word_filter or self_debiasing.
--   n_sets: Sets of neurons: 1, or the number of random sets.
--   n_continuations: Continuations that were scored, of all sets together; those without a text are not.
--   share: Share of the continuations whose score is 0.5 or more; of random sets the mean.
--   share_low: Lower end of the Wilson interval (95%) of the share; null for random sets, which continue the same prompts.
--   share_high: Its upper end; null likewise.
--   share_least: Least share of a set; the share itself where there is one set.
--   share_most: Largest share of a set.
--   percentile: Of changed, the percent of random sets whose share is smaller, of equal ones half counts; null for other methods.
--   score: Mean score.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(0.5 as double) as scored_from,
        cast(1.959963984540054 as double) as normal_975,
),
sets as (
    select
        model_id,
        corpus_id,
        intervention,
        scorer,
        attribute,
        method,
        set_number,
        count(*) as n,
        avg(case when score >= thresholds.scored_from then cast(1 as double) else cast(0 as double) end) as share,
        avg(score) as score,
    from store.attribute_scores
    cross join thresholds
    group by model_id, corpus_id, intervention, scorer, attribute, method, set_number
),
methods as (
    select
        model_id,
        corpus_id,
        intervention,
        scorer,
        attribute,
        method,
        count(*) as n_sets,
        cast(sum(n) as bigint) as n,
        avg(share) as share,
        min(share) as share_least,
        max(share) as share_most,
        avg(score) as score,
    from sets
    group by model_id, corpus_id, intervention, scorer, attribute, method
),
compared as (
    select
        changed.model_id,
        changed.corpus_id,
        changed.intervention,
        changed.scorer,
        changed.attribute,
        100 * avg(
            case
                when random_sets.share < changed.share then cast(1 as double)
                when random_sets.share = changed.share then cast(0.5 as double)
                else cast(0 as double)
            end
        ) as percentile,
    from sets as changed
    inner join sets as random_sets
        on
            random_sets.model_id = changed.model_id
            and random_sets.corpus_id = changed.corpus_id
            and random_sets.intervention = changed.intervention
            and random_sets.scorer = changed.scorer
            and random_sets.attribute = changed.attribute
            and random_sets.method = 'random'
    where changed.method = 'changed'
    group by changed.model_id, changed.corpus_id, changed.intervention, changed.scorer, changed.attribute
),
intervals as (
    select
        methods.*,
        (methods.share + thresholds.normal_975 * thresholds.normal_975 / (2 * methods.n))
        / (1 + thresholds.normal_975 * thresholds.normal_975 / methods.n) as centre,
        thresholds.normal_975
        * sqrt(
            methods.share * (1 - methods.share) / methods.n
            + thresholds.normal_975 * thresholds.normal_975 / (4 * methods.n * methods.n)
        )
        / (1 + thresholds.normal_975 * thresholds.normal_975 / methods.n) as half_width,
    from methods
    cross join thresholds
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    intervals.intervention,
    intervals.scorer,
    intervals.attribute,
    intervals.method,
    intervals.n_sets,
    intervals.n as n_continuations,
    intervals.share,
    case
        when intervals.method <> 'random'
            then greatest(cast(0 as double), least(intervals.share, intervals.centre - intervals.half_width))
    end as share_low,
    case
        when intervals.method <> 'random'
            then least(cast(1 as double), greatest(intervals.share, intervals.centre + intervals.half_width))
    end as share_high,
    intervals.share_least,
    intervals.share_most,
    case when intervals.method = 'changed' then compared.percentile end as percentile,
    intervals.score,
    measured_corpora.corpus,
from intervals
inner join store.models as models on models.model_id = intervals.model_id
inner join measured_corpora
    on measured_corpora.model_id = intervals.model_id and measured_corpora.corpus_id = intervals.corpus_id
left join compared
    on
        compared.model_id = intervals.model_id
        and compared.corpus_id = intervals.corpus_id
        and compared.intervention = intervals.intervention
        and compared.scorer = intervals.scorer
        and compared.attribute = intervals.attribute
where measured_corpora.is_shown
