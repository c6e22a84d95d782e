-- The clusters of one model that have neurons which list a token among the first ten that they promote.
with listing as (
    select distinct layer, neuron
    from promotions
    where model = $model and side = 'promoted' and rank <= 10 and (word = $word or token = $token)
)
select members.cluster_id, count(*) as n_listing,
from cluster_members as members
inner join listing on listing.layer = members.layer and listing.neuron = members.neuron
where members.model = $model and members.clustering_id = $clustering_id
group by members.cluster_id
order by members.cluster_id
