-- The vectors of one model that one annotator has judged.
select distinct condition, layer, coalesce(neuron, control_id) as number, shown_token_ids as token_ids
from store.annotations
where model_id = $model_id and annotator = $annotator
