-- Which of the tables that most neurons have no rows in hold any of one neuron: views of them are planned for nothing.
-- compared: whether its model was compared with another, in which it may share a token with no neuron.
select 'neighbours' as name
from store.neighbours
where set_id = $model_id and layer = $layer and neuron = $neuron
union
select 'counterparts' as name
from store.counterparts
where set_id = $model_id and layer = $layer and neuron = $neuron
union
select 'compared' as name
from store.runs
where model_id = $model_id and job = 'counterparts'
union
select 'universality' as name
from store.universality
where set_id = $model_id and layer = $layer and neuron = $neuron
union
select 'annotations' as name
from store.annotations
where model_id = $model_id and layer = $layer and neuron = $neuron
union
select 'explanations' as name
from store.explanations
where model_id = $model_id and layer = $layer and neuron = $neuron and subject = 'neuron'
union
select 'foreign' as name
from store.foreign_neurons
where set_id = $model_id and layer = $layer and neuron = $neuron
union
select 'detected_ngrams' as name
from detected_ngrams
where model_id = $model_id and layer = $layer and neuron = $neuron
union
select 'interventions' as name
from store.intervention_neurons
where model_id = $model_id and layer = $layer and neuron = $neuron and set_number = 0
