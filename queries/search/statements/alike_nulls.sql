-- What random vectors like a layer's value vectors reach with their best neuron of each model they were compared with.
select other_model_id, max(null_99) as null_99
from store.counterparts
where model_id = $model_id and layer = $layer
group by other_model_id
