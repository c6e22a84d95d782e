-- The neurons that a person's condition keeps.
select model, layer, neuron,
from neurons
where
    (/* the conditions on neurons */ true)
