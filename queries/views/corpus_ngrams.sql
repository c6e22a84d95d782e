-- One row per model and length of n-gram: the n-grams of its shown corpus, independent of its neurons.
-- Why: the reference for every coverage, and the limit of what can be detected: a detector's n-grams must come often
-- enough to tell its recall. From: store.ngram_spectrum. Source: Voita et al. 2023, section 4; the number of
-- occurrences that is enough, and that a length cannot be labelled where fewer than half of the positions carry such
-- n-grams, are ours.
-- Kinds of rows: n.
-- key: model, n
-- kept: ngram_spectrum
-- columns:
--   model: Name of the model.
--   model_id: Number of the model in this file.
--   corpus: The shown corpus.
--   corpus_id: Number of the corpus in this file.
--   n: Length of the n-grams.
--   n_positions: Counted positions at which a full n-gram ends.
--   n_distinct: Distinct n-grams.
--   coverage_50: Fewest n-grams that hold 50% of the positions.
--   coverage_80: Fewest n-grams that hold 80% of the positions.
--   coverage_90: Fewest n-grams that hold 90% of the positions.
--   coverage_95: Fewest n-grams that hold 95% of the positions.
--   coverage_99: Fewest n-grams that hold 99% of the positions.
--   min_occurrences: Occurrences that an n-gram needs to be detected.
--   n_frequent: Distinct n-grams that occur at least so often.
--   frequent_share: Share of the positions that they hold.
--   can_be_labelled: Whether detectors of such n-grams are looked for.
with thresholds as (
    select
        cast(10 as bigint) as min_occurrences,
        cast(0.5 as double) as least_frequent_share,
),
steps as (
    select
        spectrum.model_id,
        spectrum.corpus_id,
        spectrum.n,
        spectrum.n_occurrences,
        spectrum.n_distinct,
        sum(spectrum.n_occurrences * spectrum.n_distinct) over (
            partition by spectrum.model_id, spectrum.corpus_id, spectrum.n
        ) as n_positions,
        sum(spectrum.n_occurrences * spectrum.n_distinct) over (
            partition by spectrum.model_id, spectrum.corpus_id, spectrum.n
            order by spectrum.n_occurrences desc
            rows between unbounded preceding and current row
        ) as held,
        sum(spectrum.n_distinct) over (
            partition by spectrum.model_id, spectrum.corpus_id, spectrum.n
            order by spectrum.n_occurrences desc
            rows between unbounded preceding and current row
        ) as taken,
    from store.ngram_spectrum as spectrum
),
percentages as (
    select cast(column0 as bigint) as percent,
    from (values (50), (80), (90), (95), (99)) as listed(column0)
),
covering as (
    -- At the step that first holds enough, n-grams of one frequency are taken until there are enough.
    select
        steps.model_id,
        steps.corpus_id,
        steps.n,
        percentages.percent,
        steps.taken
        - (100 * steps.held - percentages.percent * steps.n_positions) // (100 * steps.n_occurrences) as coverage,
    from steps
    cross join percentages
    where
        100 * steps.held >= percentages.percent * steps.n_positions
        and 100 * (steps.held - steps.n_occurrences * steps.n_distinct) < percentages.percent * steps.n_positions
),
coverages as (
    select
        model_id,
        corpus_id,
        n,
        max(case when percent = 50 then coverage end) as coverage_50,
        max(case when percent = 80 then coverage end) as coverage_80,
        max(case when percent = 90 then coverage end) as coverage_90,
        max(case when percent = 95 then coverage end) as coverage_95,
        max(case when percent = 99 then coverage end) as coverage_99,
    from covering
    group by model_id, corpus_id, n
),
totals as (
    select
        steps.model_id,
        steps.corpus_id,
        steps.n,
        max(steps.n_positions) as n_positions,
        sum(steps.n_distinct) as n_distinct,
        max(thresholds.min_occurrences) as min_occurrences,
        max(thresholds.least_frequent_share) as least_frequent_share,
        sum(case when steps.n_occurrences >= thresholds.min_occurrences then steps.n_distinct else 0 end)
            as n_frequent,
        sum(
            case
                when steps.n_occurrences >= thresholds.min_occurrences then steps.n_distinct * steps.n_occurrences
                else 0
            end
        ) as n_frequent_positions,
    from steps
    cross join thresholds
    group by steps.model_id, steps.corpus_id, steps.n
)
select
    measured_corpora.model,
    totals.model_id,
    measured_corpora.corpus,
    totals.corpus_id,
    totals.n,
    cast(totals.n_positions as bigint) as n_positions,
    cast(totals.n_distinct as bigint) as n_distinct,
    cast(coverages.coverage_50 as bigint) as coverage_50,
    cast(coverages.coverage_80 as bigint) as coverage_80,
    cast(coverages.coverage_90 as bigint) as coverage_90,
    cast(coverages.coverage_95 as bigint) as coverage_95,
    cast(coverages.coverage_99 as bigint) as coverage_99,
    totals.min_occurrences,
    cast(totals.n_frequent as bigint) as n_frequent,
    cast(totals.n_frequent_positions as double) / totals.n_positions as frequent_share,
    totals.n = 1
    or cast(totals.n_frequent_positions as double) / totals.n_positions >= totals.least_frequent_share
        as can_be_labelled,
from totals
inner join coverages
    on coverages.model_id = totals.model_id and coverages.corpus_id = totals.corpus_id and coverages.n = totals.n
inner join measured_corpora
    on measured_corpora.model_id = totals.model_id and measured_corpora.corpus_id = totals.corpus_id
where measured_corpora.is_shown
