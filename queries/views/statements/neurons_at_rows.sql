-- Which neurons lie in some rows of the tables that hold a row per neuron.
select 'neuron_facts' as name, model_id, layer, neuron,
from store.neuron_facts
where rowid in (select unnest($neuron_facts::bigint[]))
union all
select 'projections' as name, model_id, layer, neuron,
from store.projections
where rowid in (select unnest($projections::bigint[]))
