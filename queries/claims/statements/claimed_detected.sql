-- How many tokens the detectors of each model detect, summed over its layers, and how many are new in their layer.
select
    model,
    sum(n_detected)::bigint as n_detected,
    sum(n_new)::bigint as n_new,
from detected_by_layer
where list_contains($models::varchar[], model) and n = 1
group by model
