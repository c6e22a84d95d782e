-- What changing a neuron did to the loss: alone, then with others, those with the largest effect first.
with changed as (
    select
        cast(null as varchar) as intervention,
        1 as n_neurons,
        effect_on_loss as effect,
        effect_percentile as percentile,
        random_effect,
        random_effect_least,
        random_effect_most,
        n_tokens,
    from neuron_effects
    where model = $model and layer = $layer and neuron = $neuron
    union all
    select
        intervention,
        n_neurons,
        effect,
        percentile,
        random_effect,
        random_effect_least,
        random_effect_most,
        n_tokens,
    from interventions
    where
        model = $model
        and intervention in (
            select asked.intervention
            from store.intervention_neurons as asked
            where
                asked.model_id = $model_id
                and asked.set_number = 0
                and asked.layer = $layer
                and asked.neuron = $neuron
        )
)
select *,
from changed
order by intervention is not null, effect desc, intervention
