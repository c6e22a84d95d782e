-- The models that a model was compared with neuron by neuron, smaller ones first.
select others.name as other_model
from store.runs as runs
inner join store.models as models on models.model_id = runs.model_id
inner join store.models as others on others.model_id = runs.other_model_id
where runs.job = 'counterparts' and models.name = $model
order by others.size, others.name
