-- How often those neurons of each layer that fired at all fire, at the layer's relative depth; only of models with exact
-- zeros: of others half of the activations count.
select model, layer, depth, mean_frequency, median_frequency, n_neurons - n_never_active as n_alive, n_tokens_seen, corpus,
from layer_activity
where n_dead is not null and list_contains($models::varchar[], model)
order by size, model, layer
