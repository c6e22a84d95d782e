-- How one neuron fires on each domain of a corpus.
select domain, n_tokens_seen, n_active, frequency, mean_activation, activation_max, first_active,
from activity_by_domain
where model = $model and layer = $layer and neuron = $neuron and corpus_id = $corpus_id
order by domain
