-- How many positional neurons of each kind and strength each layer of one model has.
select
    layer,
    position_kind,
    position_strength,
    count(*) as n_neurons,
    max(n_sequences) as n_sequences,
from positional_neurons
where model = $model and position_kind <> 'too few sequences'
group by layer, position_kind, position_strength
order by layer, position_kind, position_strength
