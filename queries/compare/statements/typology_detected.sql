-- Which share of the n-grams the detectors of each layer of some models know, and how many are new there.
select
    model,
    variant,
    size,
    n,
    layer,
    depth,
    n_frequent,
    n_detected,
    detected_share,
    n_cumulative,
    cumulative_share,
    n_new,
    n_new_vs_previous,
    corpus,
from detected_by_layer
where list_contains($models::varchar[], model)
order by
    size,
    regexp_extract(variant, '^\D+') nulls first, try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first,
    model, n, layer
