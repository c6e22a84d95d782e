-- How large one neuron's activations are.
select bin, low, high, n_tokens, n_tokens_counted
from activation_histogram
where model = $model and layer = $layer and neuron = $neuron and corpus_id = $corpus_id
order by bin
