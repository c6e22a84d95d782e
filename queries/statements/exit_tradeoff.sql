-- The view exit_tradeoff of some models, along each curve.
select *,
from exit_tradeoff
where list_contains($models::varchar[], model)
order by size, variant nulls first, model, method, layers_run, parameter
