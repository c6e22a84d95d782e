-- The neurons of one layer with everything that is known of each as a number, and what it promotes.
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
where model = $model and layer = $layer
order by neuron
