-- Neurons with all that is known of each as a number: all of one layer, or always the same few of one model. Of a gated
-- model the tokens are those that a neuron promotes at the pole at which it is strongest.
select
    address,
    frequency,
    effective_frequency,
    contribution_max,
    mean_activation,
    -- What a coefficient below 0 does hangs on its pole: of other models its size tells nothing.
    case when pole is not null then activation_min end as activation_min,
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
    is_negligible,
    n_tokens_seen,
    pole,
    case when pole = 'negative' then bottom_tokens else top_tokens end as top_tokens,
    neuron,
    corpus,
from neurons
/* where one layer is asked for */
where model = $model and layer = $layer
order by neuron
/* end of one layer is asked for */
/* where a model is asked for */
where model = $model
-- Drawn at random, always the same ones: a page need not carry a million rows to show how they spread.
order by hash(layer, neuron)
limit $n
/* end of a model is asked for */
