-- The cluster of one neuron, with the other neurons of it, nearest to its centre first; one row where it is alone.
select
    clusters_summary.*,
    members.address as mate,
    members.centre_cosine,
    members.pole,
    case when members.pole = 'negative' then members.bottom_tokens else members.top_tokens end as top_tokens,
from clusters_summary
left join cluster_members as members
    on
        members.model = $model
        and members.clustering_id = $clustering_id
        and members.cluster_id = $cluster_id
        and not (members.layer = $layer and members.neuron = $neuron)
where
    clusters_summary.model = $model
    and clusters_summary.clustering_id = $clustering_id
    and clusters_summary.cluster_id = $cluster_id
order by case when members.pole is null then members.centre_cosine else abs(members.centre_cosine) end desc, members.layer, members.neuron
