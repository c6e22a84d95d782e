-- Where each model's first neuron lies in the tables that hold a row per neuron, in the order of layers and neurons.
select 'neuron_facts' as name, model_id, rowid as first_row,
from store.neuron_facts
where layer = 0 and neuron = 0
union all
select 'projections' as name, model_id, rowid as first_row,
from store.projections
where layer = 0 and neuron = 0
