-- A neuron to begin with: of the smallest model, the one whose scores stick out most.
select neurons.address,
from neurons
where neurons.model = $model
order by neurons.kurtosis desc nulls last, neurons.address
limit 1
