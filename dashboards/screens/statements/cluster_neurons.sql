-- The neurons of one cluster, nearest to its centre first.
select
    address,
    centre_cosine,
    case when pole = 'negative' then bottom_tokens else top_tokens end as top_tokens,
    layer,
    neuron,
from cluster_members
where model = $model and clustering_id = $clustering_id and cluster_id = $cluster_id
order by case when pole is null then centre_cosine else abs(centre_cosine) end desc nulls last, layer, neuron
