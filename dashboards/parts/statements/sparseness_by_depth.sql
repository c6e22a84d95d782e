-- How sparse the neurons of each layer are, and which share of them hardly matters, at the layer's relative depth; only of
-- models without exact zeros, whose neurons are never dead.
select
    model,
    layer,
    depth,
    median_effective_frequency,
    negligible_share,
    n_negligible,
    n_neurons,
    n_tokens_seen,
    corpus,
from layer_activity
where n_dead is null and list_contains($models::varchar[], model)
order by size, model, layer
