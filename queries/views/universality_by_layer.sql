-- One row per model, layer, other model and corpus: how many neurons another model has, too, by depth.
-- Why: at which depth models trained apart come to the same neurons, beside what a rotated basis shows of it. From:
-- universality. Source: Gurnee et al. 2024; the intervals are this project's: Wilson's for shares, and
-- mean - 1.96 sd / sqrt(n) to mean + 1.96 sd / sqrt(n) for the mean, null for a single neuron. They are over neurons, and leave
-- out that one rotation is drawn for all of them.
-- Kinds of rows: is_shown.
-- key: model, layer, other_model, corpus_id
-- columns:
--   model: Name of the model.
--   corpus: The corpus whose positions both read.
--   corpus_id: Number of the corpus.
--   is_shown: It is the model's shown corpus.
--   other_model: Name of the other model.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_neurons: Neurons of the layer with a correlation: those whose activations are the same at all positions have none.
--   n_above: Of these, neurons whose similarity is above 0.5.
--   share_above: n_above / n_neurons; null in a layer without a correlation, as everything below.
--   share_above_low: Lower end of its 95% interval.
--   share_above_high: Upper end.
--   share_above_null: Share of neurons whose null correlation is above 0.5.
--   n_universal: Neurons whose excess is above 0.5.
--   mean_similarity: Mean similarity.
--   mean_excess: Mean excess.
--   mean_excess_low: Lower end of its 95% interval.
--   mean_excess_high: Upper end.
with thresholds as (
    select
        cast(0.5 as double) as least_similarity,
        cast(1.959963984540054 as double) as normal_975,
),
summed as (
    select
        universality.model,
        universality.corpus,
        universality.corpus_id,
        universality.is_shown,
        universality.other_model,
        universality.layer,
        universality.depth,
        count(universality.similarity) as n_neurons,
        cast(sum(case when universality.similarity > thresholds.least_similarity then 1 else 0 end) as bigint) as n_above,
        cast(sum(case when universality.null_correlation > thresholds.least_similarity then 1 else 0 end) as bigint) as n_above_null,
        cast(sum(case when universality.is_universal then 1 else 0 end) as bigint) as n_universal,
        avg(universality.similarity) as mean_similarity,
        avg(universality.excess) as mean_excess,
        stddev_samp(universality.excess) as sd_excess,
        max(thresholds.normal_975) as z,
    from universality
    cross join thresholds
    group by
        universality.model,
        universality.corpus,
        universality.corpus_id,
        universality.is_shown,
        universality.other_model,
        universality.layer,
        universality.depth
),
shares as (
    select
        summed.*,
        cast(n_above as double) / nullif(n_neurons, 0) as share_above,
        cast(n_above_null as double) / nullif(n_neurons, 0) as share_above_null,
        z * z / nullif(n_neurons, 0) as per_neuron,
    from summed
)
select
    model,
    corpus,
    corpus_id,
    is_shown,
    other_model,
    layer,
    depth,
    n_neurons,
    n_above,
    share_above,
    (share_above + per_neuron / 2 - z * sqrt(share_above * (1 - share_above) / nullif(n_neurons, 0) + per_neuron / (4 * nullif(n_neurons, 0))))
    / (1 + per_neuron) as share_above_low,
    (share_above + per_neuron / 2 + z * sqrt(share_above * (1 - share_above) / nullif(n_neurons, 0) + per_neuron / (4 * nullif(n_neurons, 0))))
    / (1 + per_neuron) as share_above_high,
    share_above_null,
    n_universal,
    mean_similarity,
    mean_excess,
    mean_excess - z * sd_excess / sqrt(n_neurons) as mean_excess_low,
    mean_excess + z * sd_excess / sqrt(n_neurons) as mean_excess_high,
from shares
