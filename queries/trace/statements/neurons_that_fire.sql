-- The neurons of one layer that fire on the shown corpus of their model; none where activity was not measured.
select neuron,
from store.neuron_facts
where model_id = $model_id and layer = $layer and n_active > 0
order by neuron
