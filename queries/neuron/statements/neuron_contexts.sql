-- Where one neuron fires most strongly in a corpus, with its windows there and elsewhere.
select
    null as band, rank, activation::double as activation, sequence_id, position,
    12 as n_before, 6 as n_after, null as nonzero, null as activations,
from store.contexts
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
union all
select
    band, rank, largest::double as activation, sequence_id, position,
    n_before, n_after, nonzero, activations,
from store.context_windows
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
