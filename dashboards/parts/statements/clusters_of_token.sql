-- The clusters of one model that have neurons which list a token among the first ten that they promote, of a gated model
-- at the pole at which they write what their cluster has in common.
with listing as (
    select distinct layer, neuron, side
    from promotions
    where model = $model and rank <= 10 and (word = $word or token = $token)
)
select members.cluster_id, count(*) as n_listing,
from cluster_members as members
inner join listing
    on
        listing.layer = members.layer
        and listing.neuron = members.neuron
        and (listing.side = 'suppressed') = coalesce(members.pole = 'negative', false)
where members.model = $model and members.clustering_id = $clustering_id
group by members.cluster_id
order by members.cluster_id
