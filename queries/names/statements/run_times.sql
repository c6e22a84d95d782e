-- When some jobs ran on which models last, and how large these are; the models asked for are there without runs too.
with ran as (
    select
        model_id,
        job,
        max_by(started_at, finished_at) as started_at,
        max(finished_at) as finished_at,
    from store.runs
    where list_contains($jobs::varchar[], job) and other_model_id is null
    group by model_id, job
)
select
    models.name as model,
    models.n_parameters,
    ran.job,
    ran.started_at,
    ran.finished_at,
from store.models as models
left join ran on ran.model_id = models.model_id
where ran.job is not null or list_contains($models::varchar[], models.name)
order by models.name, ran.job
