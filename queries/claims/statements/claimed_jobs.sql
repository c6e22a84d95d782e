-- The jobs that were run on each model.
select
    model,
    list(distinct job) as jobs,
from runs
where list_contains($models::varchar[], model)
group by model
