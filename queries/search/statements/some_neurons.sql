-- What the flat table says of a few neurons.
with asked as (
    select
        unnest($models::varchar[]) as model,
        unnest($layers::integer[]) as layer,
        unnest($neurons::integer[]) as neuron,
)
select neurons.model, neurons.layer, neurons.neuron, neurons.address, neurons.depth, neurons.top_tokens, neurons.frequency,
from neurons
inner join asked
    on asked.model = neurons.model and asked.layer = neurons.layer and asked.neuron = neurons.neuron
