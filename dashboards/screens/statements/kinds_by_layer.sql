-- How many positional neurons of each kind and strength each layer of one model has.
with layers as (
    from positions_by_layer
    where model = $model and why_not is null
)
select
    layer,
    replace(regexp_extract(counted, '^n_(.*)_', 1), '_', ' ') as position_kind,
    regexp_extract(counted, '[a-z]+$') as position_strength,
    n_counted as n_neurons,
    n_sequences,
from (unpivot layers on columns('^n_.*_(strong|weak)$') into name counted value n_counted)
where n_counted > 0
order by layer, position_kind, position_strength
