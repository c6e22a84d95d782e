-- The clusters of one model in its shown clustering, largest first.
select
    clustering_id,
    cluster_id,
    n_clusters,
    size,
    n_layers,
    first_layer,
    last_layer,
    cohesion,
    shared_tokens,
    n_shared_tokens,
    top_share,
from clusters_summary
where model = $model and is_shown
order by size desc, cohesion desc nulls last, cluster_id
