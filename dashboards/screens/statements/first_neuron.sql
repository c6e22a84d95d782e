-- The first neuron to show: the one of the smallest model whose scores stand out most.
select neurons.address,
from neurons
where neurons.model = $model
order by neurons.kurtosis desc nulls last, neurons.address
limit 1
