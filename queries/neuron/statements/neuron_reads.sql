-- What the key of one neuron reads, or its gate and its up projection, as ids.
select
    reader::varchar as reader,
    score_mean,
    score_sd,
    top_token_ids,
    top_scores,
    bottom_token_ids,
    bottom_scores,
from store.key_projections
where set_id = $model_id and layer = $layer and neuron = $neuron
order by reader
