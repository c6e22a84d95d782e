-- The view early_exits of some models.
select *,
from early_exits
where list_contains($models::varchar[], model)
order by
    size, variant nulls first, model,
    list_position(
        ['cluster_ranks', 'cluster_sets', 'logistic_stream', 'logistic_ffn', 'logistic_sum'], method
    )
