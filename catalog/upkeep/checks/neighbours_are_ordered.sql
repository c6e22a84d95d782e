-- The nearest tokens of a token, and the nearest neurons of a neuron, exclude itself, and the nearest is first.
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
        'model ' || set_id || ', layer ' || layer || ', neuron ' || neuron || ', rank ' || rank as place,
        rank, cosine,
        other_layer = layer and other_neuron = neuron as is_itself,
        lag(cosine) over (partition by set_id, layer, neuron order by rank) as cosine_before,
        row_number() over (partition by set_id, layer, neuron order by rank) as place_by_rank
    from store.neighbours
)
select place from tokens
where is_itself or cosine > cosine_before or place_by_rank <> rank or abs(cosine) > 1 + 1e-4
union all
select place from neurons
where is_itself or cosine > cosine_before or place_by_rank <> rank or abs(cosine) > 1 + 1e-4
