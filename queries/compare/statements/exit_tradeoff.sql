-- The view exit_tradeoff of some models, along each curve.
select *,
from exit_tradeoff
where list_contains($models::varchar[], model)
order by
    size,
    regexp_extract(variant, '^\D+') nulls first, try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first,
    model, method, layers_run, parameter
