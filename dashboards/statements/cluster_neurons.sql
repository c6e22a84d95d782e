-- The neurons of one cluster of the shown clustering, nearest to its centre first.
select members.address, members.centre_cosine, members.top_tokens, members.layer, members.neuron,
from cluster_members as members
inner join clusters_summary as summary
    on summary.model = members.model
    and summary.clustering_id = members.clustering_id
    and summary.cluster_id = members.cluster_id
where members.model = $model and members.cluster_id = $cluster_id and summary.is_shown
order by members.centre_cosine desc nulls last, members.layer, members.neuron
