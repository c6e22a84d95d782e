-- How much of each layer's update its largest neurons hold, in some models.
select *,
from dominant_share
where list_contains($models::varchar[], model)
order by size, model, layer
