-- One row per model and metric: the headline numbers of the view scaling with their intervals, ready for a chart.
-- Why: one table for every figure against size. From: scaling. Sources: as there; shares carry the Wilson 95% interval,
-- means the normal 95% interval, both as if the neurons were independent draws, which they are not quite.
-- key: model, metric
-- columns:
--   model: Name of the model.
--   metric: Name of the number, as the column of scaling is called.
--   value: The number; metrics that were not measured have no row.
--   low: Lower end of its 95% interval; null where none is defined.
--   high: Upper end of its 95% interval; null where none is defined.
--   n: Neurons it was taken over; of suppression the token detectors, of events and exits the examples or sentences.
--   unit: share (of 1), nats or none.
--   source_view: The view that shows the same by layer or neuron.
--   size: Parameters without embeddings.
--   variant: Null for a plain size.
--   comparable: Whether the model was measured as the reference was.
with thresholds as (
    select cast(1.959963984540054 as double) as normal_975,
),
kinds as (
    select
        column0 as metric,
        column1 as interval_kind,
        column2 as unit,
        column3 as source_view,
    from (
        values
            ('dead_share', 'wilson', 'share', 'layer_activity'),
            ('never_active_share', 'wilson', 'share', 'layer_activity'),
            ('provably_dead_share', 'wilson', 'share', 'layer_activity'),
            ('mean_frequency', 'normal', 'share', 'layer_activity'),
            ('median_frequency', 'none', 'share', 'layer_activity'),
            ('median_effective_frequency', 'none', 'share', 'layer_activity'),
            ('negligible_share', 'wilson', 'share', 'layer_activity'),
            ('positional_share', 'wilson', 'share', 'positions_by_layer'),
            ('strong_positional_share', 'wilson', 'share', 'positions_by_layer'),
            ('median_kurtosis', 'none', 'none', 'neurons'),
            ('median_top_token_log_frequency', 'none', 'nats', 'neurons'),
            ('token_detector_share', 'wilson', 'share', 'detectors_by_layer'),
            ('bigram_detector_share', 'wilson', 'share', 'detectors_by_layer'),
            ('trigram_detector_share', 'wilson', 'share', 'detectors_by_layer'),
            ('detected_token_share', 'none', 'share', 'detected_by_layer'),
            ('early_saturation_share', 'wilson', 'share', 'saturation_by_layer'),
            ('ffn_saturation_share', 'wilson', 'share', 'saturation_by_layer'),
            ('mean_saturation_depth', 'none', 'share', 'saturation_by_layer'),
            ('dominant_share', 'none', 'share', 'dominant_share'),
            ('leading_share', 'none', 'share', 'dominant_share'),
            ('effective_share', 'none', 'share', 'dominant_share'),
            ('cluster_exit_accuracy', 'none', 'share', 'early_exits'),
            ('cluster_exit_saved_share', 'none', 'share', 'early_exits'),
            ('mat_exit_saved_share', 'none', 'share', 'exit_tradeoff'),
            ('id_exit_saved_share', 'none', 'share', 'exit_tradeoff'),
            ('suppressing_share', 'wilson', 'share', 'suppression_by_model'),
            ('suppressing_expected', 'none', 'share', 'suppression_by_model'),
            ('suppressing_difference', 'none', 'share', 'suppression_by_model')
    ) as listed(column0, column1, column2, column3)
),
metrics as (
    select
        scaling.model,
        kinds.metric,
        case kinds.metric
            when 'dead_share' then scaling.dead_share
            when 'never_active_share' then scaling.never_active_share
            when 'provably_dead_share' then scaling.provably_dead_share
            when 'mean_frequency' then scaling.mean_frequency
            when 'median_frequency' then scaling.median_frequency
            when 'median_effective_frequency' then scaling.median_effective_frequency
            when 'negligible_share' then scaling.negligible_share
            when 'positional_share' then scaling.positional_share
            when 'strong_positional_share' then scaling.strong_positional_share
            when 'median_kurtosis' then scaling.median_kurtosis
            when 'median_top_token_log_frequency' then scaling.median_top_token_log_frequency
            when 'token_detector_share' then scaling.token_detector_share
            when 'bigram_detector_share' then scaling.bigram_detector_share
            when 'trigram_detector_share' then scaling.trigram_detector_share
            when 'detected_token_share' then scaling.detected_token_share
            when 'early_saturation_share' then scaling.early_saturation_share
            when 'ffn_saturation_share' then scaling.ffn_saturation_share
            when 'mean_saturation_depth' then scaling.mean_saturation_depth
            when 'dominant_share' then scaling.dominant_share
            when 'leading_share' then scaling.leading_share
            when 'effective_share' then scaling.effective_share
            when 'cluster_exit_accuracy' then scaling.cluster_exit_accuracy
            when 'cluster_exit_saved_share' then scaling.cluster_exit_saved_share
            when 'mat_exit_saved_share' then scaling.mat_exit_saved_share
            when 'id_exit_saved_share' then scaling.id_exit_saved_share
            when 'suppressing_share' then scaling.suppressing_share
            when 'suppressing_expected' then scaling.suppressing_expected
            when 'suppressing_difference' then scaling.suppressing_difference
        end as value,
        kinds.interval_kind,
        case when kinds.metric = 'mean_frequency' then scaling.frequency_sd end as sd,
        case
            when kinds.metric in ('mean_frequency', 'median_frequency') then scaling.n_alive
            when kinds.metric in ('suppressing_share', 'suppressing_expected', 'suppressing_difference')
                then scaling.n_token_detectors
            when kinds.source_view in ('saturation_by_layer', 'dominant_share') then scaling.n_examples
            when kinds.source_view = 'early_exits' then scaling.n_exit_examples
            when kinds.source_view = 'exit_tradeoff' then scaling.n_exit_sentences
            else scaling.n_neurons
        end as n,
        kinds.unit,
        kinds.source_view,
        scaling.size,
        scaling.variant,
        scaling.comparable,
    from scaling
    cross join kinds
),
steps as (
    select
        metrics.model,
        metrics.metric,
        metrics.value,
        metrics.interval_kind,
        metrics.n,
        metrics.unit,
        metrics.source_view,
        metrics.size,
        metrics.variant,
        metrics.comparable,
        case
            when metrics.interval_kind = 'wilson'
                then (metrics.value + power(thresholds.normal_975, 2) / (2 * metrics.n))
                    / (1 + power(thresholds.normal_975, 2) / metrics.n)
            when metrics.interval_kind = 'normal' then metrics.value
        end as centre,
        case
            when metrics.interval_kind = 'wilson'
                then thresholds.normal_975
                    * sqrt(
                        metrics.value * (1 - metrics.value) / metrics.n
                        + power(thresholds.normal_975, 2) / (4 * power(metrics.n, 2))
                    )
                    / (1 + power(thresholds.normal_975, 2) / metrics.n)
            when metrics.interval_kind = 'normal' then thresholds.normal_975 * metrics.sd / sqrt(metrics.n)
        end as half_width,
    from metrics
    cross join thresholds
    where metrics.value is not null
)
select
    model,
    metric,
    value,
    centre - half_width as low,
    centre + half_width as high,
    n,
    unit,
    source_view,
    size,
    variant,
    comparable,
from steps
