-- How many positional neurons of each kind the layers of some models have.
select *,
from positions_by_layer
where list_contains($models::varchar[], model)
order by
    size,
    regexp_extract(variant, '^\D+') nulls first, try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first,
    model, layer
