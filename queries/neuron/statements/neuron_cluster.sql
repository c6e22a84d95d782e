-- What is known of one cluster.
select *,
from clusters_summary
where model = $model and clustering_id = $clustering_id and cluster_id = $cluster_id
