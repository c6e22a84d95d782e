-- A trigger occurs as often as the corpus says, activates at most as often as it occurs, and the most frequent is first.
with single as (
    select corpus_id, token_id, sum(n_occurrences) as n_occurrences
    from store.token_counts
    group by corpus_id, token_id
),
ordered as (
    select
        set_id as model_id, corpus_id, layer, neuron, n, rank, token_ids, n_active, n_occurrences,
        lag(n_active) over (partition by set_id, corpus_id, layer, neuron, n order by rank) as n_active_before,
        row_number() over (partition by set_id, corpus_id, layer, neuron, n order by rank) as place_by_rank
    from store.triggers
)
select
    'model ' || ordered.model_id || ', layer ' || ordered.layer || ', neuron ' || ordered.neuron
    || ', n ' || ordered.n || ', rank ' || ordered.rank as place
from ordered
left join single
    on single.corpus_id = ordered.corpus_id and ordered.n = 1 and single.token_id = ordered.token_ids[1]
where
    ordered.n_active not between 1 and ordered.n_occurrences
    or ordered.n_active > ordered.n_active_before
    or ordered.place_by_rank <> ordered.rank
    or array_length(ordered.token_ids) <> ordered.n
    or (ordered.n = 1 and ordered.n_occurrences is distinct from single.n_occurrences)
