-- The models with controls that the annotator by rules has not judged.
select distinct models.name as model
from store.models as models
inner join store.runs as runs on runs.model_id = models.model_id and runs.job = 'controls'
where
    list_contains($models::varchar[], models.name)
    and not exists (
        select 1 from store.annotations as annotations
        where annotations.model_id = models.model_id and annotations.annotator = 'rules'
    )
order by model
