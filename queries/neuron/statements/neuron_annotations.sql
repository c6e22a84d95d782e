-- What people see in one neuron, concepts before none.
select concept, class, tokens, annotator, created_at,
from annotations
where model = $model and condition = 'value' and layer = $layer and neuron = $neuron and is_latest
order by concept is null, annotator, created_at, concept
