-- An annotation is about a neuron of its model, or a control of one of its layers, and says which of the two.
select 'annotation ' || annotations.annotation_id as place
from store.annotations as annotations
left join store.models as models on models.model_id = annotations.model_id
where
    models.model_id is null
    or annotations.layer not between 0 and models.n_layers - 1
    or annotations.condition not in ('value', 'random', 'ffn_update')
    or case
        when annotations.condition = 'value'
            then
                annotations.control_id is not null
                or coalesce(annotations.neuron not between 0 and models.d_ffn - 1, true)
        else annotations.neuron is not null or coalesce(annotations.control_id < 0, true)
    end
union all
-- How many FFN updates a layer has depends on the text, which may have been another one since.
select 'annotation ' || annotations.annotation_id as place
from store.annotations as annotations
semi join store.controls as measured
    on
        measured.model_id = annotations.model_id
        and measured.layer = annotations.layer
        and measured.kind = annotations.condition
anti join store.controls as named
    on
        named.model_id = annotations.model_id
        and named.layer = annotations.layer
        and named.kind = annotations.condition
        and named.control_id = annotations.control_id
where annotations.condition = 'random'
