-- Neurons are changed in a known way, losses and divergences are not negative, probabilities are at most 1, and all sets met the same tokens.
select 'model ' || model_id || ', ' || intervention as place
from store.interventions
where
    how not in ('set', 'scale', 'mean')
    or moment not in ('before', 'after')
    or (how = 'mean') <> (value is null)
    or n_neurons < 1
    or n_sets < 1
union all
select 'model ' || model_id || ', ' || intervention || ', set ' || set_number || ', ' || domain as place
from store.intervention_effects
where
    n_tokens < 1
    or nll < 0
    or nll_untouched < 0
    or kl < -1e-5 * n_tokens
    or least(mass_promoted, mass_promoted_untouched, mass_suppressed, mass_suppressed_untouched) < 0
    or greatest(mass_promoted, mass_promoted_untouched, mass_suppressed, mass_suppressed_untouched) > 1.0001 * n_tokens
union all
select 'model ' || effects.model_id || ', ' || effects.intervention || ', set ' || effects.set_number as place
from store.intervention_effects as effects
left join store.intervention_effects as asked
    on
        asked.model_id = effects.model_id
        and asked.corpus_id = effects.corpus_id
        and asked.intervention = effects.intervention
        and asked.domain = effects.domain
        and asked.position_from = effects.position_from
        and asked.set_number = 0
where
    asked.n_tokens is distinct from effects.n_tokens
    or asked.nll_untouched is distinct from effects.nll_untouched
