-- Where each model's first neuron lies in the tables that hold a row a neuron, in the order of layers and neurons.
select
    models.model_id,
    models.d_ffn,
    facts.first_row as neuron_facts,
    lists.first_row as projections,
from store.models as models
left join (select model_id, rowid as first_row from store.neuron_facts where layer = 0 and neuron = 0) as facts
    on facts.model_id = models.model_id
left join (select model_id, rowid as first_row from store.projections where layer = 0 and neuron = 0) as lists
    on lists.model_id = models.model_id
