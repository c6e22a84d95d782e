-- What one neuron promotes and suppresses, as ids, and how all of its scores spread.
select
    score_mean, score_sd, top_token_ids, top_scores, bottom_token_ids, bottom_scores,
    (
        select counts
        from store.logit_histograms
        where set_id = $model_id and layer = $layer and neuron = $neuron
    ) as logit_counts,
from store.projections
where set_id = $model_id and layer = $layer and neuron = $neuron
