-- How many examples settle their prediction in each layer of some models.
select *,
from saturation_by_layer
where list_contains($models::varchar[], model)
order by size, model, layer
