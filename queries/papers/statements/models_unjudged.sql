-- The models with random vectors that the annotator by rules has not judged.
select distinct models.name as model
from store.models as models
inner join store.controls as controls on controls.model_id = models.model_id and controls.kind = 'random'
where
    list_contains($models::varchar[], models.name)
    and not exists (
        select 1 from store.annotations as annotations
        where
            annotations.model_id = models.model_id
            and annotations.annotator = 'rules'
            and annotations.condition = 'random'
            and annotations.layer = controls.layer
            and annotations.control_id = controls.control_id
    )
order by model
