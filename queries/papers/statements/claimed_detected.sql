-- How many tokens the detectors of each layer detect, and how many of them no layer below detects; layers that detect.
select
    model,
    layer,
    n_detected,
    n_new,
from detected_by_layer
where list_contains($models::varchar[], model) and n = 1 and n_detected > 0
order by model, layer
