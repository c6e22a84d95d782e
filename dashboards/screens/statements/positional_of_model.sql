-- The positional neurons of one model with their kind, the most informative about the position first.
select
    address,
    layer,
    neuron,
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
