-- The nearest tokens of a token, and the nearest neurons of a neuron, exclude itself, and the nearest is first.
-- Of a gated model, where the sign of a value vector is a convention, the nearest is that of the largest |cosine|.
with tokens as (
    select
        'model ' || model_id || ', token ' || token_id || ', rank ' || rank as place, rank, cosine,
        neighbour_id = token_id as is_itself,
        lag(cosine) over (partition by model_id, token_id order by rank) as cosine_before,
        row_number() over (partition by model_id, token_id order by rank) as place_by_rank
    from store.token_neighbours
),
neurons as (
    select
        'model ' || near.set_id || ', layer ' || near.layer || ', neuron ' || near.neuron || ', rank ' || near.rank
        as place,
        near.rank,
        case when sets.is_signed then abs(near.cosine) else near.cosine end as cosine,
        near.other_layer = near.layer and near.other_neuron = near.neuron as is_itself,
        lag(case when sets.is_signed then abs(near.cosine) else near.cosine end) over
            (partition by near.set_id, near.layer, near.neuron order by near.rank) as cosine_before,
        row_number() over (partition by near.set_id, near.layer, near.neuron order by near.rank) as place_by_rank
    from store.neighbours as near
    inner join store.unit_sets as sets on sets.set_id = near.set_id
)
select place from tokens
where is_itself or cosine > cosine_before or place_by_rank <> rank or abs(cosine) > 1 + 1e-4
union all
select place from neurons
where is_itself or cosine > cosine_before or place_by_rank <> rank or abs(cosine) > 1 + 1e-4
