-- Where one neuron fires most strongly in a corpus, its windows there and elsewhere, and the histogram of its activations, which has
-- no place: a published catalog may have that alone.
select
    null as band, rank, activation::double as activation, sequence_id, position,
    12 as n_before, 6 as n_after, null as nonzero, null as activations,
    null as n_positions, null as first_bin, null as counts,
from store.contexts
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
union all
select
    band, rank, largest::double as activation, sequence_id, position,
    n_before, n_after, nonzero, activations,
    null as n_positions, null as first_bin, null as counts,
from store.context_windows
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
union all
select
    null as band, null as rank, null as activation, null as sequence_id, null as position,
    null as n_before, null as n_after, null as nonzero, null as activations,
    n_positions, first_bin, counts,
from store.activation_histograms
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
