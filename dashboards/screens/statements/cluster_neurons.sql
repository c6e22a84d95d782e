-- The neurons of one cluster, nearest to its centre first.
select address, centre_cosine, top_tokens, layer, neuron,
from cluster_members
where model = $model and clustering_id = $clustering_id and cluster_id = $cluster_id
order by centre_cosine desc nulls last, layer, neuron
