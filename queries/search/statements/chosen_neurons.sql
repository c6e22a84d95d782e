-- The neurons that a person's condition keeps.
select model, layer, neuron,
from neurons
where
    (not $alive or n_active > 0)
    and (/* the condition of --where */ true)
