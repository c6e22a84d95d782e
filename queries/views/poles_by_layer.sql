-- One row per model and layer: how sparse its neurons are, whether they work at both signs, and how many hardly matter.
-- Why: sparseness and signs by depth, and in models without exact zeros what dead neurons are in those that have them.
-- From: neuron_activity. Source: effective frequency Treves and Rolls 1991; negligible and strong are ours.
-- key: model, layer
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   corpus: The shown corpus.
--   n_neurons: Neurons of the layer that were measured.
--   effective_frequency_05: One neuron in twenty has at most this effective frequency.
--   median_effective_frequency: Half of them have at most this effective frequency.
--   effective_frequency_95: Nineteen in twenty have at most this effective frequency.
--   median_strong_frequency: Half of them are strong at most at this share of the positions; null before the job poles ran.
--   median_minor_share: Half of them have at most this share of the sum of |m| at the sign that has less of it; null likewise.
--   two_sided_share: Share of the neurons of which that is at least a quarter: they work at both signs; null likewise.
--   median_contribution_max: Half of them have at most this largest share of the FFN's output, position 0 left out; null likewise.
--   n_negligible: Neurons whose largest share is below 0.01; null likewise.
--   negligible_share: n_negligible / n_neurons.
with thresholds as (
    select
        cast(0.25 as double) as least_minor_share,
)
select
    model,
    layer,
    max(depth) as depth,
    max(corpus) as corpus,
    count(*) as n_neurons,
    percentile_cont(0.05) within group (order by effective_frequency) as effective_frequency_05,
    median(effective_frequency) as median_effective_frequency,
    percentile_cont(0.95) within group (order by effective_frequency) as effective_frequency_95,
    median(strong_frequency) as median_strong_frequency,
    median(minor_share) as median_minor_share,
    avg(
        case
            when minor_share >= least_minor_share then cast(1 as double)
            when minor_share is not null then cast(0 as double)
        end
    ) as two_sided_share,
    median(contribution_max_later) as median_contribution_max,
    cast(sum(case when is_negligible then 1 when not is_negligible then 0 end) as bigint) as n_negligible,
    avg(
        case when is_negligible then cast(1 as double) when not is_negligible then cast(0 as double) end
    ) as negligible_share,
from neuron_activity
cross join thresholds
group by model, layer
