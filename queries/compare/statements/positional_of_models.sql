-- Every positional neuron of some models with its kind, and its counts at every position where it has two extremes.
select
    positional_neurons.model,
    positional_neurons.layer,
    positional_neurons.neuron,
    positional_neurons.address,
    positional_neurons.position_kind,
    positional_neurons.position_strength,
    positional_neurons.mutual_information_corrected,
    positional_neurons.n_sequences,
    positions.first_position,
    positions.counts,
    positional_neurons.corpus,
from positional_neurons
inner join measured_corpora as shown on shown.model = positional_neurons.model and shown.is_shown
left join store.positions as positions
    on positions.set_id = shown.model_id
    and positions.corpus_id = shown.corpus_id
    and positions.layer = positional_neurons.layer
    and positions.neuron = positional_neurons.neuron
    and positions.domain = 'all'
    and positional_neurons.position_kind in ('oscillatory', 'both extremes')
where
    list_contains($models::varchar[], positional_neurons.model)
    and positional_neurons.position_kind <> 'too few sequences'
order by positional_neurons.model, positional_neurons.layer, positional_neurons.neuron
