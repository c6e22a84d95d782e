-- Some neurons of one model, always the same ones, as they fire on one of the corpora that it was measured on.
select
    neurons.address,
    activity.frequency,
    activity.mean_activation,
    activity.activation_max,
    neurons.value_norm,
    neurons.kurtosis,
    neurons.skewness,
    neurons.score_sd,
    neurons.score_mean,
    neurons.score_negative_share,
    neurons.preactivation_bound,
    neurons.top_token_log_frequency,
    activity.is_dead,
    activity.never_active,
    activity.n_tokens_seen,
    neurons.top_tokens,
    neurons.neuron,
    activity.corpus,
from neurons
left join neurons_by_corpus as activity
    on activity.model = neurons.model
    and activity.layer = neurons.layer
    and activity.neuron = neurons.neuron
    and activity.corpus_id = $corpus_id
where neurons.model = $model
order by hash(neurons.layer, neurons.neuron)
limit $n
