-- The first neuron to show: the one of the smallest model whose scores stand out most, of those that act.
select neurons.address,
from neurons
where neurons.model = $model
order by coalesce(neurons.never_active, false), neurons.kurtosis desc nulls last, neurons.address
limit 1
