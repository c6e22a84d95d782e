-- Which jobs each model was measured by; one row without a job for a model that was by none.
select distinct models.name as model, runs.job,
from store.models as models
left join store.runs as runs on runs.model_id = models.model_id
order by models.name, runs.job
