-- The neurons of some models that pushed a word to the top for good, the hundred of each model that did most often.
select
    model, layer, neuron, address, token, n_pushes, n_saturations, push_share, mean_score, mean_coefficient, mean_share,
    corpus,
from pushers
where list_contains($models::varchar[], model) and word = $word
qualify row_number() over (partition by model order by n_pushes desc, mean_score desc, address) <= 100
order by n_pushes desc, mean_score desc, address
