-- Clusters of each model with extreme updates: their share of these, and of all neurons.
select
    model,
    cluster_id,
    n_extreme,
    extreme_share,
    cluster_size,
    neuron_share,
from extreme_clusters
where list_contains($models::varchar[], model)
order by model, n_extreme desc, cluster_id
