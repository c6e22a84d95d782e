-- The tokens that are nearest to each token in a model's unembedding and have it among their own nearest.
select one.token_id, list(one.neighbour_id order by one.rank) as near
from store.token_neighbours as one
inner join store.token_neighbours as other
    on
        other.model_id = one.model_id
        and other.token_id = one.neighbour_id
        and other.neighbour_id = one.token_id
where one.model_id = $model_id
group by one.token_id
