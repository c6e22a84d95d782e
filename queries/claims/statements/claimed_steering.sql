-- How many continuations have an attribute, by method, for every intervention on texts.
select
    model,
    intervention,
    scorer,
    attribute,
    method,
    n_continuations,
    share,
    share_least,
    share_most,
    percentile,
from attribute_shares
where list_contains($models::varchar[], model)
order by model, intervention, scorer, attribute, method
