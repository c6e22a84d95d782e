-- How sparse one neuron is without a threshold, where strong begins, and which share of its FFN's output it has.
select
    sums.abs_sum * sums.abs_sum / nullif(sums.n_positions * sums.square_sum, 0) as effective_frequency,
    contributions.root_mean_square::double as root_mean_square,
    contributions.contribution_mean, contributions.contribution_max::double as contribution_max,
    contributions.contribution_max_later::double as contribution_max_later,
from (
    select
        sum(activation_abs_sum) as abs_sum, sum(activation_square_sum) as square_sum,
        sum(n_positions)::double as n_positions,
    from store.activity
    where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
) as sums
left join store.contributions as contributions
    on
        contributions.set_id = $model_id
        and contributions.corpus_id = $corpus_id
        and contributions.layer = $layer
        and contributions.neuron = $neuron
