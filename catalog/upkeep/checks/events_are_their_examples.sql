-- A saturation lies in its example's saturation layer, an elimination in its elimination layer.
select 'model ' || events.model_id || ', example ' || events.example_id || ', ' || events.kind as place
from store.events as events
left join store.examples as examples
    on
        examples.model_id = events.model_id
        and examples.corpus_id = events.corpus_id
        and examples.example_id = events.example_id
where
    events.kind not in ('saturation', 'elimination')
    or examples.in_event_sample is distinct from true
    or (events.kind = 'saturation' and events.layer is distinct from examples.saturation_layer)
    or (events.kind = 'elimination' and events.layer is distinct from examples.elimination_layer)
    or (events.kind = 'saturation' and events.token_id is distinct from examples.final_token)
    or (events.kind = 'elimination' and events.rank_after <= events.rank_before)
