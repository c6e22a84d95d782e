-- The layers of one model with what was found in each: activity, detectors, positional neurons, predictions that settle.
select
    activity.layer,
    activity.depth,
    activity.n_neurons,
    activity.n_tokens_seen,
    activity.n_dead,
    activity.dead_share,
    activity.n_never_active,
    activity.never_active_share,
    activity.mean_frequency,
    activity.median_frequency,
    activity.median_effective_frequency,
    activity.n_negligible,
    activity.negligible_share,
    detectors.n_detectors,
    positions.n_positional,
    positions.n_sequences,
    saturation.saturated_share,
    saturation.n_examples,
    activity.corpus,
from layer_activity as activity
left join detectors_by_layer as detectors
    on detectors.model = activity.model and detectors.layer = activity.layer and detectors.n = 1
left join positions_by_layer as positions on positions.model = activity.model and positions.layer = activity.layer
left join saturation_by_layer as saturation
    on saturation.model = activity.model and saturation.layer = activity.layer
where activity.model = $model
order by activity.layer
