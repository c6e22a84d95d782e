-- A percentile among fewer than 20 random neurons is not shown; a random one is not among its own.
with few as (
    select
        effects.model_id,
        effects.corpus_id,
        effects.layer,
        effects.neuron
    from store.neuron_effects as effects
    left join store.neuron_effects as others
        on others.model_id = effects.model_id
        and others.corpus_id = effects.corpus_id
        and others.layer = effects.layer
        and others.neuron <> effects.neuron
        and others.is_control
    group by effects.model_id, effects.corpus_id, effects.layer, effects.neuron
    having count(others.neuron) < 20
)
update store.neuron_facts as facts
set effect_percentile = null
from few
where few.model_id = facts.model_id
    and few.corpus_id = facts.corpus_id
    and few.layer = facts.layer
    and few.neuron = facts.neuron;
comment on column store.neuron_facts.effect_percentile is 'Percent of the random neurons of its layer, itself left out, whose effect is smaller; of equal ones half counts; null of fewer than 20.';
