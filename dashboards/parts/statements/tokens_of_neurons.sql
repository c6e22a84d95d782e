-- What some neurons of one model promote, in five tokens each.
with wanted as (
    select unnest($layers) as layer, unnest($neurons) as neuron
)
select neurons.layer, neurons.neuron, list_slice(neurons.top_tokens, 1, 5) as top_tokens,
from neurons
inner join wanted on wanted.layer = neurons.layer and wanted.neuron = neurons.neuron
where neurons.model = $model
order by neurons.layer, neurons.neuron
