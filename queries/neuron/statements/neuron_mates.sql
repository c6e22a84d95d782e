-- The other neurons of one neuron's cluster, nearest to its centre first.
select address, centre_cosine, top_tokens,
from cluster_members
where
    model = $model
    and clustering_id = $clustering_id
    and cluster_id = $cluster_id
    and not (layer = $layer and neuron = $neuron)
order by centre_cosine desc, layer, neuron
