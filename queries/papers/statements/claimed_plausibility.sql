-- How many lists of a shortcut's five tokens people found plausible, from all states below the last.
select
    plausibility.model,
    plausibility.method,
    sum(plausibility.n_plausible)::bigint as n_plausible,
    sum(plausibility.n)::bigint as n,
from plausibility
inner join store.models as models on models.name = plausibility.model
where
    list_contains($models::varchar[], plausibility.model)
    and plausibility.annotator = 'all'
    and plausibility.state < models.n_layers
group by plausibility.model, plausibility.method
order by plausibility.model, plausibility.method
