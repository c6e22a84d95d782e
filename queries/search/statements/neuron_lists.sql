-- What one neuron promotes and suppresses, as ids.
select score_mean, score_sd, top_token_ids, top_scores, bottom_token_ids, bottom_scores,
from store.projections
where model_id = $model_id and layer = $layer and neuron = $neuron
