-- The neurons of every model are a set of units that has its number, with the width of its layers.
with sets as (
    select models.model_id
    from store.models as models
    left join store.unit_sets as sets on sets.set_id = models.model_id
    where
        (
            sets.model_id = models.model_id
            and sets.kind = 'ffn'
            and sets.rule = models.activation_rule
            and sets.nonlinearity = models.activation
            and sets.has_exact_zeros = models.has_exact_zeros
        ) is not true
),
layers as (
    select
        set_id,
        layer,
        n_units,
        first_unit,
        sum(n_units) over (partition by set_id order by layer) - n_units as n_below,
    from store.unit_layers
)
select 'model ' || model_id as place
from sets
union all
select 'set ' || set_id || ', layer ' || layer as place
from layers
left join store.models as models on models.model_id = layers.set_id
where
    layers.first_unit <> layers.n_below
    or layers.n_units < 1
    or layers.layer < 0
    or layers.set_id not in (select set_id from store.unit_sets)
    or layers.layer >= models.n_layers
    or layers.n_units <> models.d_ffn
union all
select 'set ' || sets.set_id as place
from store.unit_sets as sets
left join store.models as models on models.model_id = sets.model_id
left join store.unit_layers as layers on layers.set_id = sets.set_id
group by sets.set_id, sets.kind, models.model_id, models.n_layers
having models.model_id is null or (sets.kind = 'ffn' and count(layers.layer) <> models.n_layers)
