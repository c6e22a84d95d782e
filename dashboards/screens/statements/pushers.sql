-- The neurons of some models that pushed a word to the top for good, the hundred of each model that exceed their base rate
-- most: the share of the token's examples in which they pushed it, minus the share of all examples in which they are
-- dominant. Tokens with few examples and neurons with few pushes come last, or one push of one example would lead.
with thresholds as (
    select 10 as least_saturations, 3 as least_pushes,
),
sampled as (
    select
        model,
        max(n_examples) as n_examples,
    from saturation_by_layer
    where list_contains($models::varchar[], model)
    group by model
),
compared as (
    select
        pushers.model, pushers.layer, pushers.neuron, pushers.address, pushers.token, pushers.n_pushes, pushers.n_saturations,
        pushers.push_share, neurons.times_dominant, sampled.n_examples,
        cast(neurons.times_dominant as double) / sampled.n_examples as base_share,
        pushers.mean_score, pushers.mean_centred, pushers.mean_coefficient, pushers.mean_share, pushers.corpus,
    from pushers
    inner join sampled on sampled.model = pushers.model
    inner join neurons
        on neurons.model = pushers.model and neurons.layer = pushers.layer and neurons.neuron = pushers.neuron
    where pushers.word = $word
),
ranked as (
    select
        *,
        push_share - base_share as push_gain,
        n_saturations >= least_saturations and n_pushes >= least_pushes as is_frequent,
    from compared
    cross join thresholds
)
select
    model, layer, neuron, address, token, n_pushes, n_saturations, push_share, times_dominant, n_examples, base_share,
    push_gain, mean_score, mean_centred, mean_coefficient, mean_share, corpus,
from ranked
qualify row_number() over (partition by model order by is_frequent desc, push_gain desc, n_pushes desc, address) <= 100
order by is_frequent desc, push_gain desc, n_pushes desc, address
