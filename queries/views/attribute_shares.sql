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
--   n_continuations: Continuations that were scored, of all sets together.
--   n_blank: Continuations without a text, which are not scored.
--   share: Share of the scored continuations whose score is 0.5 or more; of random sets the mean; null where none was scored.
--   share_low: Lower end of the Wilson interval (95%) of the share; null for random sets, which continue the same prompts.
--   share_high: Its upper end; null likewise.
--   share_least: Least share of a set; the share itself where there is one set.
--   share_most: Largest share of a set.
--   percentile: Of changed, the percent of random sets whose share is smaller, of equal ones half counts; null for other methods, and of fewer than 20 sets.
--   score: Mean score.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(0.5 as double) as scored_from,
        20 as least_sets,
        cast(1.959963984540054 as double) as normal_975,
),
attributes as (
    select distinct model_id, corpus_id, intervention, scorer, attribute from store.attribute_scores
),
sets as (
    select
        written.model_id,
        written.corpus_id,
        written.intervention,
        attributes.scorer,
        attributes.attribute,
        written.method,
        written.set_number,
        count(scores.score) as n,
        count(*) - count(scores.score) as n_blank,
        avg(
            case
                when scores.score >= thresholds.scored_from then cast(1 as double)
                when scores.score < thresholds.scored_from then cast(0 as double)
            end
        ) as share,
        avg(scores.score) as score,
    from store.continuations as written
    cross join thresholds
    inner join attributes
        on
            attributes.model_id = written.model_id
            and attributes.corpus_id = written.corpus_id
            and attributes.intervention = written.intervention
    left join store.attribute_scores as scores
        on
            scores.model_id = written.model_id
            and scores.corpus_id = written.corpus_id
            and scores.intervention = written.intervention
            and scores.method = written.method
            and scores.set_number = written.set_number
            and scores.prompt_number = written.prompt_number
            and scores.scorer = attributes.scorer
            and scores.attribute = attributes.attribute
    group by
        written.model_id,
        written.corpus_id,
        written.intervention,
        attributes.scorer,
        attributes.attribute,
        written.method,
        written.set_number
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
        cast(sum(n_blank) as bigint) as n_blank,
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
        count(*) as n_sets,
        100 * avg(
            case
                when random_sets.share < changed.share then cast(1 as double)
                when random_sets.share = changed.share then cast(0.5 as double)
                when random_sets.share > changed.share then cast(0 as double)
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
        (methods.share + thresholds.normal_975 * thresholds.normal_975 / (2 * nullif(methods.n, 0)))
        / (1 + thresholds.normal_975 * thresholds.normal_975 / nullif(methods.n, 0)) as centre,
        thresholds.normal_975
        * sqrt(
            methods.share * (1 - methods.share) / nullif(methods.n, 0)
            + thresholds.normal_975 * thresholds.normal_975 / (4 * nullif(methods.n, 0) * methods.n)
        )
        / (1 + thresholds.normal_975 * thresholds.normal_975 / nullif(methods.n, 0)) as half_width,
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
    intervals.n_blank,
    intervals.share,
    case
        when intervals.method <> 'random' and intervals.n > 0
            then greatest(cast(0 as double), least(intervals.share, intervals.centre - intervals.half_width))
    end as share_low,
    case
        when intervals.method <> 'random' and intervals.n > 0
            then least(cast(1 as double), greatest(intervals.share, intervals.centre + intervals.half_width))
    end as share_high,
    intervals.share_least,
    intervals.share_most,
    case
        when intervals.method = 'changed' and compared.n_sets >= thresholds.least_sets then compared.percentile
    end as percentile,
    intervals.score,
    measured_corpora.corpus,
from intervals
cross join thresholds
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
