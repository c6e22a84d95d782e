-- Coverage rises with the share covered, and tokens trigger a neuron about as often as it is active, or strong.
with strong as (
    -- Where strong activations count, those of the pole at which the neuron is strongest do.
    select
        poles.set_id as model_id, poles.corpus_id, poles.layer, poles.neuron,
        case
            when
                models.activation_rule = 'gate > 0'
                and max(poles.largest) filter (where poles.pole = 'negative')
                > max(poles.largest) filter (where poles.pole = 'positive')
                then sum(poles.n_strong) filter (where poles.pole = 'negative')
            else sum(poles.n_strong) filter (where poles.pole = 'positive')
        end as n_strong
    from store.pole_activity as poles
    inner join store.models as models on models.model_id = poles.set_id
    group by poles.set_id, poles.corpus_id, poles.layer, poles.neuron, models.activation_rule
),
rules as (
    -- Whatever stands there: a file of somebody else's may hold no JSON.
    select run_id, regexp_extract(parameters, '"activation_rule": "([^"]*)"', 1) as activation_rule
    from store.runs
),
measured as (
    select
        activity.set_id as model_id, activity.corpus_id, activity.layer, activity.neuron,
        sum(activity.n_active) as n_active, sum(activity.n_positions) as n_positions,
        max(rules.activation_rule) as activation_rule
    from store.activity as activity
    inner join rules on rules.run_id = activity.run_id
    group by activity.set_id, activity.corpus_id, activity.layer, activity.neuron
),
active as (
    select
        ngrams.set_id as model_id, ngrams.corpus_id, ngrams.layer, ngrams.neuron, ngrams.n, measured.n_positions,
        case
            when rules.activation_rule = measured.activation_rule then measured.n_active
            when rules.activation_rule like '|m|%' then strong.n_strong
        end as n_active
    from store.ngrams as ngrams
    inner join rules on rules.run_id = ngrams.run_id
    left join measured
        on
            measured.model_id = ngrams.set_id
            and measured.corpus_id = ngrams.corpus_id
            and measured.layer = ngrams.layer
            and measured.neuron = ngrams.neuron
    left join strong
        on
            strong.model_id = ngrams.set_id
            and strong.corpus_id = ngrams.corpus_id
            and strong.layer = ngrams.layer
            and strong.neuron = ngrams.neuron
)
select 'model ' || ngrams.set_id || ', layer ' || ngrams.layer || ', neuron ' || ngrams.neuron
    || ', n ' || ngrams.n as place
from store.ngrams as ngrams
left join active
    on
        active.model_id = ngrams.set_id
        and active.corpus_id = ngrams.corpus_id
        and active.layer = ngrams.layer
        and active.neuron = ngrams.neuron
        and active.n = ngrams.n
where
    ngrams.n_covering_50 > ngrams.n_covering_80
    or ngrams.n_covering_80 > ngrams.n_covering_90
    or ngrams.n_covering_90 > ngrams.n_covering_95
    or ngrams.n_covering_95 > ngrams.n_covering_99
    or ngrams.n_covering_99 > ngrams.n_distinct
    or ngrams.n_distinct > ngrams.n_active
    -- Two sweeps may differ where a pre-activation is next to 0: below 760 in a million even in bfloat16.
    or (ngrams.n = 1 and abs(ngrams.n_active - active.n_active) > 1 + active.n_positions / 1000)
    or (ngrams.n > 1 and ngrams.n_active > active.n_active + 1 + active.n_positions / 1000)
union all
-- Shuffling moves activations within their sequences and leaves their number.
select 'model ' || shuffled.set_id || ', layer ' || shuffled.layer || ', neuron ' || shuffled.neuron
    || ', n ' || shuffled.n || ', shuffled' as place
from store.shuffled_ngrams as shuffled
left join store.ngrams as ngrams
    on
        ngrams.set_id = shuffled.set_id
        and ngrams.corpus_id = shuffled.corpus_id
        and ngrams.layer = shuffled.layer
        and ngrams.neuron = shuffled.neuron
        and ngrams.n = shuffled.n
where
    (shuffled.n = 1 and shuffled.n_active is distinct from ngrams.n_active)
    or shuffled.n_covering_95 > shuffled.n_distinct
    or shuffled.n_distinct > shuffled.n_active
    or shuffled.detected_active > shuffled.n_active
    or (shuffled.detected_active is null) <> (shuffled.n_covering_95 > 64)
