-- The neurons of other models that promote and suppress most of the same tokens as one neuron, smaller models first.
-- A model that its own was compared with, but in which it shares a token with no neuron, has a row without one.
with others as (
    select runs.other_model_id as model_id
    from store.runs as runs
    inner join store.models as models on models.model_id = runs.model_id
    where runs.job = 'counterparts' and models.name = $model
    union
    select found.other_set_id as model_id
    from store.counterparts as found
    inner join store.models as models on models.model_id = found.set_id
    where models.name = $model and found.layer = $layer and found.neuron = $neuron
)
select
    models.name as other_model,
    counterparts.rank,
    counterparts.other_address as address,
    counterparts.overlap,
    counterparts.null_99,
    counterparts.is_beyond_null,
    counterparts.is_mutual,
    counterparts.other_pole as pole,
    case
        when counterparts.other_pole = 'negative' then counterparts.other_bottom_tokens
        else counterparts.other_top_tokens
    end as top_tokens,
from others
inner join store.models as models on models.model_id = others.model_id
left join counterparts
    on
        counterparts.other_model = models.name
        and counterparts.model = $model
        and counterparts.layer = $layer
        and counterparts.neuron = $neuron
order by models.size, models.name, counterparts.rank
