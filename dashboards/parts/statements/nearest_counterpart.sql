-- The neuron of one layer with the nearest counterpart in another model, as far as any is above chance.
select
    address,
    other_model,
    other_address,
    overlap,
    null_99,
    is_mutual,
    other_pole,
    case when other_pole = 'negative' then other_bottom_tokens else other_top_tokens end as other_top_tokens,
from counterparts
where model = $model and layer = $layer and is_beyond_null
order by overlap desc, neuron, other_model, rank
limit 1
