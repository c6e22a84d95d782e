-- Where one neuron fires most strongly in a corpus, with its windows there and elsewhere, each with its histogram.
select
    null as band, rank, activation::double as activation, sequence_id, position,
    12 as n_before, 6 as n_after, null as nonzero, null as activations,
    null as n_positions, null as first_bin, null as counts,
from store.contexts
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
union all
select
    windows.band, windows.rank, windows.largest::double as activation, windows.sequence_id, windows.position,
    windows.n_before, windows.n_after, windows.nonzero, windows.activations,
    histograms.n_positions, histograms.first_bin, histograms.counts,
from store.context_windows as windows
left join store.activation_histograms as histograms
    on
        histograms.set_id = $model_id
        and histograms.corpus_id = $corpus_id
        and histograms.layer = $layer
        and histograms.neuron = $neuron
where
    windows.set_id = $model_id
    and windows.corpus_id = $corpus_id
    and windows.layer = $layer
    and windows.neuron = $neuron
