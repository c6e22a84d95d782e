-- Layers that leaving early saves of each model at 95% precision, by method.
select distinct
    model,
    size,
    method,
    n,
    n_layers,
    layers_saved_at_95,
from exit_tradeoff
where list_contains($models::varchar[], model)
order by size, method
