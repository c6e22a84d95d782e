-- How many n-grams cover the alive neurons of some models: by layer, in the first half, and over all.
select
    model,
    variant,
    size,
    n,
    region,
    layer,
    bin,
    bin_order,
    n_neurons,
    n_alive,
    share,
    corpus_coverage,
    is_corpus_bin,
    corpus,
from coverage_bins
where list_contains($models::varchar[], model)
order by
    size,
    regexp_extract(variant, '^\D+') nulls first, try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first,
    model, n, region, layer, bin_order
