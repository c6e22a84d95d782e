-- A clustering has as many clusters as it says, and at most as many as were asked for.
with counted as (
    select clustering_id, count(distinct cluster_id) as n_clusters from store.clusters group by clustering_id
)
select 'clustering ' || coalesce(clusterings.clustering_id, counted.clustering_id) as place
from store.clusterings as clusterings
full join counted on counted.clustering_id = clusterings.clustering_id
where
    counted.n_clusters is distinct from clusterings.n_clusters
    or clusterings.n_clusters > clusterings.n_clusters_asked
