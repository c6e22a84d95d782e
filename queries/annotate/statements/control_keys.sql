-- The control vectors of one model.
select kind as condition, layer, control_id as number
from store.controls
where model_id = $model_id
order by kind, layer, control_id
