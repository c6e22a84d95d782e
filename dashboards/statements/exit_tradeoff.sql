-- How often shortcuts of some models say what the model says, against the layers that run.
select *,
from exit_tradeoff
where list_contains($models::varchar[], model)
order by size, model, method, layers_run, parameter
