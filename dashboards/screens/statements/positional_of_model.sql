-- The positional neurons of one model with their kind, the most informative about the position first.
with found as (
    select
        model,
        layer,
        neuron,
        address,
        position_kind,
        position_strength,
        mutual_information_corrected,
        domain_agreement,
        n_sequences,
        frequency,
        corpus,
    from positional_neurons
    where model = $model and position_kind <> 'too few sequences'
    order by mutual_information_corrected desc, address
    limit $n
)
select
    found.address,
    found.layer,
    found.neuron,
    found.position_kind,
    found.position_strength,
    found.mutual_information_corrected,
    found.domain_agreement,
    found.n_sequences,
    found.frequency,
    neurons.top_tokens,
    found.corpus,
from found
inner join neurons
    on neurons.model = found.model
    and neurons.layer = found.layer
    and neurons.neuron = found.neuron
order by found.mutual_information_corrected desc, found.address
