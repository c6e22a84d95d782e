-- Mean and standard deviation of the scores of each neuron of some layers of a model, in the order of the neurons.
select score_mean, score_sd,
from store.projections
where set_id = $model_id and layer between $first_layer and $last_layer
order by layer, neuron
