-- The positional neurons of one model with their kind, those that tell most of the position first.
select
    found.address,
    found.position_kind,
    found.position_strength,
    found.mutual_information_corrected,
    found.domain_agreement,
    found.n_sequences,
    found.frequency,
    neurons.top_tokens,
from positional_neurons as found
inner join neurons
    on neurons.model = found.model
    and neurons.layer = found.layer
    and neurons.neuron = found.neuron
where found.model = $model and found.position_kind <> 'too few sequences'
order by found.mutual_information_corrected desc, found.address
limit $n
