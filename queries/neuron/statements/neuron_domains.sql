-- How one neuron fires on each domain of a corpus.
select
    domain,
    n_positions as n_tokens_seen,
    n_active,
    n_active::double / nullif(n_positions, 0) as frequency,
    activation_sum / nullif(n_positions, 0) as mean_activation,
    activation_min::double as activation_min,
    activation_max::double as activation_max,
    first_active,
from store.activity
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
