-- The neurons of a model by kind, as the views of its shown corpus label them.
with dominance as (
    select layer, neuron, times_dominant, row_number() over (order by times_dominant desc, layer, neuron) as place,
        count(*) over () as n_neurons,
    from neurons
    where model = $model and times_dominant is not null
)
select 'dead' as kind, layer, neuron,
from neurons
where model = $model and is_dead
union all
-- What dead neurons are where no coefficient is exactly 0.
select 'negligible' as kind, layer, neuron,
from neurons
where model = $model and is_negligible and is_dead is null
union all
select 'token detectors' as kind, layer, neuron,
from neurons
where model = $model and is_token_detector
union all
select distinct 'n-gram detectors' as kind, layer, neuron,
from ngram_detectors
where model = $model
union all
select 'positional' as kind, layer, neuron,
from neurons
where model = $model and position_strength in ('strong', 'weak')
union all
select 'dominant' as kind, layer, neuron,
from dominance
where times_dominant > 0 and place <= greatest(1, n_neurons // 100)
order by kind, layer, neuron
