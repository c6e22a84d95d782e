-- Where one neuron is strongest at each sign of its coefficient.
select pole::varchar as pole, rank, activation::double as activation, sequence_id, position, 12 as n_before, 6 as n_after,
from store.pole_contexts
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
