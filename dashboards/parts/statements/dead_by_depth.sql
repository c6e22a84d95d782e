-- The share of dead neurons in each layer, at the layer's relative depth; null for models without exact zeros.
select model, layer, depth, dead_share, n_dead, n_neurons, n_tokens_seen, corpus,
from layer_activity
where list_contains($models::varchar[], model)
order by size, model, layer
