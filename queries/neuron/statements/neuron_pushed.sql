-- Which tokens a neuron helped an FFN to bring to the top for good, the most frequent first.
select
    token_id,
    token,
    n_pushes,
    n_saturations,
    push_share,
    mean_score,
    mean_centred,
from pushers
where model = $model and layer = $layer and neuron = $neuron
order by n_pushes desc, push_share desc, token_id
