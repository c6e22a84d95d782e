-- A job that ran has a row for every neuron of the model, in every domain where it has domains.
with sizes as (
    select model_id, n_layers, d_ffn, n_layers::bigint * d_ffn as n_neurons from store.models
),
measured as (
    select 'projections' as name, set_id as model_id, null::integer as corpus_id, '' as part, layer, neuron
    from store.projections
    union all
    select 'keys' as name, set_id as model_id, null as corpus_id, reader::varchar as part, layer, neuron
    from store.key_projections
    union all
    select 'activity' as name, set_id as model_id, corpus_id, domain as part, layer, neuron from store.activity
    union all
    select 'contributions' as name, set_id as model_id, corpus_id, '' as part, layer, neuron from store.contributions
    union all
    select 'ngrams' as name, set_id as model_id, corpus_id, n::varchar as part, layer, neuron from store.ngrams
    union all
    select 'positions' as name, set_id as model_id, corpus_id, domain as part, layer, neuron
    from store.positions
    where domain = 'all'
    union all
    select 'clusters' as name, set_id as model_id, null as corpus_id, clustering_id::varchar as part, layer, neuron
    from store.clusters
    union all
    select 'coherences' as name, set_id as model_id, corpus_id, '' as part, layer, neuron from store.coherences
),
counted as (
    select
        measured.name, measured.model_id, measured.corpus_id, measured.part, sizes.n_neurons,
        count(*) as n_rows,
        count_if(
            measured.layer between 0 and sizes.n_layers - 1 and measured.neuron between 0 and sizes.d_ffn - 1
        ) as n_within
    from measured
    left join sizes on sizes.model_id = measured.model_id
    group by measured.name, measured.model_id, measured.corpus_id, measured.part, sizes.n_neurons
)
select
    name || ' of model ' || model_id || coalesce(' on corpus ' || corpus_id, '') || ' ' || part
    || ': ' || n_rows || ' rows' as place
from counted
where n_rows is distinct from n_neurons or n_within <> n_rows
