-- How many predictions of each model are settled, and how many of them above half the saturation_by_layer.depth.
select
    saturation_by_layer.model,
    sum(n_saturated)::bigint as n,
    sum(case when saturation_by_layer.depth > 0.5 then n_saturated else 0 end)::bigint as n_upper
from saturation_by_layer
inner join models on models.model = saturation_by_layer.model
where list_contains($models::varchar[], models.model)
group by saturation_by_layer.model, models.size
order by models.size
