-- How many neurons of each layer of some models detect n-grams.
select
    model,
    variant,
    size,
    n,
    layer,
    depth,
    n_neurons,
    n_alive,
    status,
    n_detectors,
    detector_share,
    n_strict,
    corpus,
from detectors_by_layer
where list_contains($models::varchar[], model)
order by
    size,
    regexp_extract(variant, '^\D+') nulls first, try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first,
    model, n, layer
