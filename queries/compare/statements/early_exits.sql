-- The view early_exits of some models.
select *,
from early_exits
where list_contains($models::varchar[], model)
order by
    size,
    regexp_extract(variant, '^\D+') nulls first, try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first,
    model,
    list_position(
        ['cluster_ranks', 'cluster_sets', 'logistic_stream', 'logistic_ffn', 'logistic_sum'], method
    )
