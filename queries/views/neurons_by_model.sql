-- One row per model: its neurons summed up, on the model's shown corpus.
-- Why: the headline numbers of activity and of the lists, which scaling puts beside all others. From:
-- store.neuron_facts. Sources: dead neurons and frequency Voita et al. 2023, section 3; scores Geva et al. 2022,
-- sections 3 and 4; the bound behind n_provably_dead, and that the prepended BOS does not count, are ours. Frequencies
-- are those of the neurons that fired.
-- key: model
-- kept: neuron_facts
-- columns:
--   model: Name of the model.
--   n_tokens_seen: Counted positions of the shown corpus; null before any text was measured, like every column about firing.
--   n_alive: Neurons that fired.
--   n_never_active: Neurons that never fired, whatever the non-linearity.
--   never_active_share: Share of the measured neurons that never fired.
--   first_half_never_active_share: The same over the layers of the first half: 2 * layer + 1 <= n_layers.
--   n_bound_below: Neurons whose pre-activation no input can raise above 0; null for post-norm blocks.
--   bound_below_share: n_bound_below as a share of the neurons that have a bound.
--   mean_frequency: Mean frequency of the neurons that fired.
--   frequency_sd: Standard deviation of their frequencies (sample).
--   median_frequency: Half of them have at most this frequency.
--   median_effective_frequency: Half of the neurons have at most this effective frequency: see neuron_activity.
--   n_negligible: Neurons that never have 0.01 of their FFN's output; null before the job poles ran.
--   negligible_share: n_negligible as a share of the neurons that were measured so.
--   median_kurtosis: Median excess kurtosis of the neurons' raw scores.
--   median_top_token_log_frequency: Median over neurons of the mean ln(1 + corpus count) of their top tokens.
with thresholds as (
    select
        cast(0 as bigint) as dead_active_positions,
        cast(0 as double) as dead_bound,
        cast(0.01 as double) as negligible_contribution,
),
watched as (
    select
        facts.set_id as model_id,
        facts.n_positions,
        2 * facts.layer + 1 <= models.n_layers as in_first_half,
        facts.n_active = thresholds.dead_active_positions as never_active,
        facts.preactivation_bound < thresholds.dead_bound as bound_below,
        case
            when facts.n_active > thresholds.dead_active_positions
                then cast(facts.n_active as double) / nullif(facts.n_positions, 0)
        end as frequency,
        facts.effective_frequency,
        facts.contribution_max < thresholds.negligible_contribution as is_negligible,
        facts.score_kurtosis,
        facts.top_token_log_frequency,
    from store.neuron_facts as facts
    inner join store.models as models on models.model_id = facts.set_id
    cross join thresholds
),
sums as (
    select
        model_id,
        max(n_positions) as n_tokens_seen,
        count(frequency) as n_alive,
        cast(sum(case when never_active then 1 when not never_active then 0 end) as bigint) as n_never_active,
        avg(case when never_active then cast(1 as double) when not never_active then cast(0 as double) end)
            as never_active_share,
        avg(
            case
                when in_first_half and never_active then cast(1 as double)
                when in_first_half and not never_active then cast(0 as double)
            end
        ) as first_half_never_active_share,
        cast(sum(case when bound_below then 1 when not bound_below then 0 end) as bigint) as n_bound_below,
        avg(case when bound_below then cast(1 as double) when not bound_below then cast(0 as double) end)
            as bound_below_share,
        avg(frequency) as mean_frequency,
        stddev_samp(frequency) as frequency_sd,
        median(frequency) as median_frequency,
        median(effective_frequency) as median_effective_frequency,
        cast(sum(case when is_negligible then 1 when not is_negligible then 0 end) as bigint) as n_negligible,
        avg(case when is_negligible then cast(1 as double) when not is_negligible then cast(0 as double) end)
            as negligible_share,
        median(score_kurtosis) as median_kurtosis,
        median(top_token_log_frequency) as median_top_token_log_frequency,
    from watched
    group by model_id
)
select
    models.name as model,
    sums.n_tokens_seen,
    case when sums.n_tokens_seen is not null then sums.n_alive end as n_alive,
    sums.n_never_active,
    sums.never_active_share,
    sums.first_half_never_active_share,
    sums.n_bound_below,
    sums.bound_below_share,
    sums.mean_frequency,
    sums.frequency_sd,
    sums.median_frequency,
    sums.median_effective_frequency,
    sums.n_negligible,
    sums.negligible_share,
    sums.median_kurtosis,
    sums.median_top_token_log_frequency,
from sums
inner join store.models as models on models.model_id = sums.model_id
