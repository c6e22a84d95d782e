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
--   n: Neurons it was taken over.
--   unit: share (of 1), nats or none.
--   source_view: The view that shows the same by layer or neuron.
--   size: Parameters without embeddings.
--   variant: Null for a plain size.
--   comparable: Whether the model was measured as the reference was.
with thresholds as (
    select cast(1.959963984540054 as double) as normal_975,
),
metrics as (
    select
        model,
        'dead_share' as metric,
        dead_share as value,
        'wilson' as interval_kind,
        cast(null as double) as sd,
        n_neurons as n,
        'share' as unit,
        'layer_activity' as source_view,
        size,
        variant,
        comparable,
    from scaling
    union all
    select
        model, 'never_active_share', never_active_share, 'wilson', null, n_neurons, 'share', 'layer_activity',
        size, variant, comparable,
    from scaling
    union all
    select
        model, 'provably_dead_share', provably_dead_share, 'wilson', null, n_neurons, 'share', 'layer_activity',
        size, variant, comparable,
    from scaling
    union all
    select
        model, 'mean_frequency', mean_frequency, 'normal', frequency_sd, n_alive, 'share', 'layer_activity',
        size, variant, comparable,
    from scaling
    union all
    select
        model, 'median_frequency', median_frequency, 'none', null, n_alive, 'share', 'layer_activity',
        size, variant, comparable,
    from scaling
    union all
    select
        model, 'median_kurtosis', median_kurtosis, 'none', null, n_neurons, 'none', 'neurons',
        size, variant, comparable,
    from scaling
    union all
    select
        model, 'median_top_token_log_frequency', median_top_token_log_frequency, 'none', null, n_neurons, 'nats',
        'neurons', size, variant, comparable,
    from scaling
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
