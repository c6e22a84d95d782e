-- What one annotator says about vectors of one model.
select
    own.condition, own.layer, coalesce(own.neuron, own.control_id) as number, stored.shown_token_ids,
    own.concept, own.class, own.token_ids,
from annotations as own
inner join store.annotations as stored on stored.annotation_id = own.annotation_id
where own.model = $model and own.annotator = $annotator and own.is_latest
order by own.created_at, own.concept
