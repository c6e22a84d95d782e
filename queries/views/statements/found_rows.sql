-- Where some neurons lie in the tables that hold a row per neuron, looked for in all rows.
with asked as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($layers::integer[]) as layer,
        unnest($neurons::integer[]) as neuron,
)
select 'neuron_facts' as name, facts.rowid as row_number,
from store.neuron_facts as facts
inner join asked on asked.model_id = facts.model_id and asked.layer = facts.layer and asked.neuron = facts.neuron
union all
select 'projections' as name, projections.rowid as row_number,
from store.projections as projections
inner join asked
    on asked.model_id = projections.model_id and asked.layer = projections.layer and asked.neuron = projections.neuron
