-- The view saturation_by_layer of some models.
select *,
from saturation_by_layer
where list_contains($models::varchar[], model)
order by size, variant nulls first, model, layer
