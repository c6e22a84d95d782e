-- How the layers of some models fire on their shown corpora.
select
    model,
    layer,
    depth,
    n_neurons,
    n_never_active,
    never_active_share,
    n_dead,
    dead_share,
    mean_frequency,
    median_frequency,
    n_tokens_seen,
    corpus,
from layer_activity
where list_contains($models::varchar[], model)
order by model, layer
