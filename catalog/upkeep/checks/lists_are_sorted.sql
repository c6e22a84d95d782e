-- The scores of a neuron's top tokens fall, those of its bottom tokens rise, and each score has its token.
with lists as (
    select set_id, layer, neuron, top_scores, top_token_ids, bottom_scores, bottom_token_ids from store.projections
    union all
    select set_id, layer, neuron, top_scores, top_token_ids, bottom_scores, bottom_token_ids
    from store.key_projections
)
select 'model ' || set_id || ', layer ' || layer || ', neuron ' || neuron as place
from lists
where
    top_scores is distinct from list_sort(top_scores, 'desc')
    or bottom_scores is distinct from list_sort(bottom_scores, 'asc')
    or array_length(top_scores) <> array_length(top_token_ids)
    or array_length(bottom_scores) <> array_length(bottom_token_ids)
    or array_length(top_scores) <> array_length(bottom_scores)
