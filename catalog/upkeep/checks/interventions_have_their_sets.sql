-- Every intervention has the neurons and the effects of all of its sets, and each set has as many neurons of every layer.
with counted as (
    select model_id, corpus_id, intervention, layer, set_number, count(*) as n_neurons
    from store.intervention_neurons
    group by model_id, corpus_id, intervention, layer, set_number
),
sets as (
    select model_id, corpus_id, intervention, count(distinct set_number) as n_sets,
        count(*) filter (where set_number = 0) as n_neurons
    from store.intervention_neurons
    group by model_id, corpus_id, intervention
),
measured as (
    select model_id, corpus_id, intervention, count(distinct set_number) as n_sets
    from store.intervention_effects
    group by model_id, corpus_id, intervention
)
select 'model ' || interventions.model_id || ', ' || interventions.intervention as place
from store.interventions as interventions
left join sets
    on
        sets.model_id = interventions.model_id
        and sets.corpus_id = interventions.corpus_id
        and sets.intervention = interventions.intervention
left join measured
    on
        measured.model_id = interventions.model_id
        and measured.corpus_id = interventions.corpus_id
        and measured.intervention = interventions.intervention
where
    sets.n_sets is distinct from interventions.n_sets + 1
    or measured.n_sets is distinct from interventions.n_sets + 1
    or sets.n_neurons is distinct from interventions.n_neurons
union all
select 'model ' || random_sets.model_id || ', ' || random_sets.intervention || ', set ' || random_sets.set_number as place
from counted as random_sets
left join counted as asked
    on
        asked.model_id = random_sets.model_id
        and asked.corpus_id = random_sets.corpus_id
        and asked.intervention = random_sets.intervention
        and asked.layer = random_sets.layer
        and asked.set_number = 0
where random_sets.n_neurons is distinct from asked.n_neurons
