-- Norms and standard deviations are not negative, shares lie between 0 and 1, and the mean lies between the extremes.
select 'model ' || set_id || ', layer ' || layer || ', neuron ' || neuron as place
from store.projections
where
    value_norm < 0
    or score_sd < 0
    or score_negative_share not between 0 and 1
    or score_mean > top_scores[1] + 1e-6 * abs(top_scores[1])
    or score_mean < bottom_scores[1] - 1e-6 * abs(bottom_scores[1])
