-- Counterparts of two models are found from either side, ranked by overlap, and mutual where each is the other's first.
with ranked as (
    select
        set_id as model_id, layer, neuron, other_set_id as other_model_id, rank, other_layer, other_neuron, overlap, null_99, is_mutual,
        'model ' || set_id || ', layer ' || layer || ', neuron ' || neuron
        || ', model ' || other_set_id || ', rank ' || rank as place,
        lag(overlap) over same as overlap_before,
        row_number() over same as place_by_rank
    from store.counterparts
    window same as (partition by set_id, layer, neuron, other_set_id order by rank)
),
firsts as (
    select set_id as model_id, layer, neuron, other_set_id as other_model_id, other_layer, other_neuron
    from store.counterparts
    where rank = 1
)
select ranked.place
from ranked
left join firsts as back
    on
        back.model_id = ranked.other_model_id
        and back.other_model_id = ranked.model_id
        and back.layer = ranked.other_layer
        and back.neuron = ranked.other_neuron
left join store.models as others on others.model_id = ranked.other_model_id
where
    ranked.place_by_rank <> ranked.rank
    or ranked.rank > 5
    or ranked.overlap > ranked.overlap_before
    or ranked.overlap <= 0
    or ranked.overlap > 1
    or ranked.null_99 not between 0 and 1
    or ranked.is_mutual <> (
        ranked.rank = 1
        and coalesce(back.other_layer = ranked.layer and back.other_neuron = ranked.neuron, false)
    )
    or others.n_layers is null
    or ranked.other_layer not between 0 and others.n_layers - 1
    or ranked.other_neuron not between 0 and others.d_ffn - 1
union all
select 'run ' || runs.run_id as place
from store.runs as runs
left join store.runs as back
    on
        back.job = runs.job
        and back.model_id = runs.other_model_id
        and back.other_model_id = runs.model_id
        and back.corpus_id is not distinct from runs.corpus_id
where (runs.job in ('counterparts', 'universality')) <> (runs.other_model_id is not null)
    or (runs.other_model_id is not null and (back.run_id is null or runs.other_model_id = runs.model_id))
