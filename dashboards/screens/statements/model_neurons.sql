-- Some neurons of one model, always the same ones, with everything that is known of each as a number.
select
    address,
    frequency,
    mean_activation,
    activation_max,
    value_norm,
    kurtosis,
    skewness,
    score_sd,
    score_mean,
    score_negative_share,
    preactivation_bound,
    top_token_log_frequency,
    first_active,
    is_dead,
    never_active,
    n_tokens_seen,
    top_tokens,
    neuron,
    corpus,
from neurons
where model = $model
-- Drawn by lot, and the same lot every time: a page need not carry a million rows to show how they spread.
order by hash(layer, neuron)
limit $n
