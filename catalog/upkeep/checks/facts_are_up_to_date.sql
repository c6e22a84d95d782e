-- The flat table of neurons has one row per neuron of every model that was measured.
with counted as (
    select set_id as model_id, count(*) as n_rows, count(distinct layer::bigint * 1048576 + neuron) as n_neurons
    from store.neuron_facts
    group by set_id
)
select 'model ' || models.model_id || ', ' || models.name as place
from store.models as models
left join counted on counted.model_id = models.model_id
where
    models.n_neurons <> models.n_layers::bigint * models.d_ffn
    or counted.n_rows is distinct from models.n_neurons
    or counted.n_neurons is distinct from models.n_neurons
union all
select 'model ' || counted.model_id as place
from counted
where counted.model_id not in (select model_id from store.models)
