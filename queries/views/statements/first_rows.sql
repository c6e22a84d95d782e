-- Where each layer's first neuron lies in the tables that hold a row per neuron, in the order of layers and neurons.
with firsts as (
    select 'neuron_facts' as name, set_id as model_id, rowid as first_row,
    from store.neuron_facts
    where layer = 0 and neuron = 0
    union all
    select 'projections' as name, set_id as model_id, rowid as first_row,
    from store.projections
    where layer = 0 and neuron = 0
)
select
    firsts.name,
    firsts.model_id,
    list(firsts.first_row + layers.first_unit order by layers.layer) as first_rows,
from firsts
inner join store.unit_layers as layers on layers.set_id = firsts.model_id
group by firsts.name, firsts.model_id
