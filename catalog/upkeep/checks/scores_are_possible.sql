-- Norms and standard deviations are not negative, shares lie between 0 and 1, and the mean lies between the extremes.
with scored as (
    select set_id, layer, neuron, value_norm as norm, score_mean, score_sd, score_negative_share, top_scores, bottom_scores
    from store.projections
    union all
    select
        set_id, layer, neuron, reading_norm as norm, score_mean, score_sd, score_negative_share, top_scores, bottom_scores
    from store.key_projections
)
select 'model ' || set_id || ', layer ' || layer || ', neuron ' || neuron as place
from scored
where
    norm < 0
    or score_sd < 0
    or score_negative_share not between 0 and 1
    or score_mean > top_scores[1] + 1e-6 * abs(top_scores[1])
    or score_mean < bottom_scores[1] - 1e-6 * abs(bottom_scores[1])
