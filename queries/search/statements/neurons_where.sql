-- The neurons of a model that a person's condition keeps.
select layer, neuron,
from neurons
where model = $model and (/* the conditions on neurons */ true)
order by layer, neuron
