-- Whoever judged a neuron was shown the 30 highest tokens of its list.
-- Controls may be measured anew, FFN updates on another text: what was shown of them is kept with the annotation.
select 'annotation ' || annotations.annotation_id as place
from store.annotations as annotations
inner join store.projections as projections
    on
        projections.set_id = annotations.model_id
        and projections.layer = annotations.layer
        and projections.neuron = annotations.neuron
where list_slice(projections.top_token_ids, 1, 30) <> annotations.shown_token_ids
union all
select 'annotation ' || annotation_id as place
from store.annotations
where len(shown_token_ids) not between 1 and 30 or len(list_distinct(shown_token_ids)) <> len(shown_token_ids)
