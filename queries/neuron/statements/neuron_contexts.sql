-- Where one neuron fires most strongly in a corpus.
select rank, activation::double as activation, sequence_id, position,
from store.contexts
where model_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
