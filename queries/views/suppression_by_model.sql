-- One row per model with token detectors: how many suppress the tokens that trigger them, and how many would by chance.
-- Why: "over 80% suppress" means little where raw scores are negative for most tokens: the difference is what counts.
-- From: suppression. Sources: Voita et al. 2023, section 4.4; the base rate and the Wilson 95% interval are ours.
-- key: model
-- kept: triggers
-- columns:
--   model: Name of the model.
--   n_detectors: Token detectors.
--   n_suppressing: Those with a negative mean raw score.
--   observed: n_suppressing / n_detectors.
--   observed_low: Lower end of its Wilson 95% interval.
--   observed_high: Upper end of it.
--   expected: The share expected of equally frequent tokens.
--   difference: observed - expected.
--   observed_centred: Share with a negative mean centred score.
--   any_negative_share: Share that suppress at least one of their tokens.
--   all_negative_share: Share that suppress all of them.
--   corpus: The shown corpus.
with thresholds as (
    select cast(1.959963984540054 as double) as normal_975,
),
sums as (
    select
        model,
        corpus,
        count(*) as n_detectors,
        cast(sum(case when suppresses then 1 else 0 end) as bigint) as n_suppressing,
        avg(case when suppresses then cast(1 as double) else cast(0 as double) end) as observed,
        avg(expected) as expected,
        avg(case when suppresses_centred then cast(1 as double) else cast(0 as double) end) as observed_centred,
        avg(case when any_negative then cast(1 as double) else cast(0 as double) end) as any_negative_share,
        avg(case when all_negative then cast(1 as double) else cast(0 as double) end) as all_negative_share,
    from suppression
    group by model, corpus
),
intervals as (
    select
        sums.model,
        (sums.observed + power(thresholds.normal_975, 2) / (2 * sums.n_detectors))
        / (1 + power(thresholds.normal_975, 2) / sums.n_detectors) as centre,
        thresholds.normal_975
        * sqrt(
            sums.observed * (1 - sums.observed) / sums.n_detectors
            + power(thresholds.normal_975, 2) / (4 * power(sums.n_detectors, 2))
        )
        / (1 + power(thresholds.normal_975, 2) / sums.n_detectors) as half_width,
    from sums
    cross join thresholds
)
select
    sums.model,
    sums.n_detectors,
    sums.n_suppressing,
    sums.observed,
    intervals.centre - intervals.half_width as observed_low,
    intervals.centre + intervals.half_width as observed_high,
    sums.expected,
    sums.observed - sums.expected as difference,
    sums.observed_centred,
    sums.any_negative_share,
    sums.all_negative_share,
    sums.corpus,
from sums
inner join intervals on intervals.model = sums.model
