-- How one neuron's frequency depends on the position, over all of a corpus and by domain.
select domain, n_sequences, mutual_information, mutual_information_corrected, first_position, counts_64, counts,
from store.positions
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
