-- What changing a neuron did to the loss: alone, then with others, those with the largest effect first.
with by_domain as (
    select
        any_value(own.domain) as domain,
        sum(effects.nll - effects.nll_untouched) filter (where effects.domain = own.domain)
        / sum(effects.n_tokens) filter (where effects.domain = own.domain) as effect_on_domain,
        sum(effects.nll - effects.nll_untouched) filter (where effects.domain <> own.domain)
        / sum(effects.n_tokens) filter (where effects.domain <> own.domain) as effect_elsewhere,
    from store.neuron_effects_by_domain as effects
    inner join store.selectivity as own
        on
            own.set_id = effects.set_id
            and own.corpus_id = effects.corpus_id
            and own.layer = effects.layer
            and own.neuron = effects.neuron
    inner join measured_corpora
        on measured_corpora.model_id = effects.set_id and measured_corpora.corpus_id = effects.corpus_id
    where
        effects.set_id = $model_id
        and effects.layer = $layer
        and effects.neuron = $neuron
        and measured_corpora.is_shown
),
changed as (
    select
        cast(null as varchar) as intervention,
        1 as n_neurons,
        effect_on_loss as effect,
        effect_percentile as percentile,
        random_effect,
        random_effect_least,
        random_effect_most,
        n_tokens,
        domain,
        effect_on_domain,
        effect_elsewhere,
    from neuron_effects
    cross join by_domain
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
        null as domain,
        null as effect_on_domain,
        null as effect_elsewhere,
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
