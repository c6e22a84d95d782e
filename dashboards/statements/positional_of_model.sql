-- The positional neurons of one model with their kind, those that tell most of the position first.
select
    positional.address,
    positional.position_kind,
    positional.position_strength,
    positional.mutual_information_corrected,
    positional.domain_agreement,
    positional.n_sequences,
    positional.frequency,
    neurons.top_tokens,
from positional_neurons as positional
inner join neurons
    on neurons.model = positional.model
    and neurons.layer = positional.layer
    and neurons.neuron = positional.neuron
where positional.model = $model and positional.position_kind <> 'too few sequences'
order by positional.mutual_information_corrected desc, positional.address
