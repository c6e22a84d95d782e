-- The two signs of a coefficient make up what is measured of it, cases of gates make up the signs, and places are ranked.
with poles as (
    select
        set_id as model_id, corpus_id, layer, neuron, domain,
        sum(n_active) as n_active, sum(abs_sum) as abs_sum, sum(square_sum) as square_sum, count(*) as n_poles,
        bool_or(
            n_strong > n_active or n_active < 0 or n_strong < 0 or (n_active = 0) <> (abs_sum = 0)
            or (n_active = 0) <> (largest = 0) or largest > abs_sum * (1 + 1e-4)
            or abs_sum * abs_sum > n_active * square_sum * (1 + 1e-3) + 1e-9
        ) as is_impossible
    from store.pole_activity
    group by set_id, corpus_id, layer, neuron, domain
),
wrong_poles as (
    select poles.model_id, poles.layer, poles.neuron, poles.domain as part
    from poles
    left join store.activity as activity
        on
            activity.set_id = poles.model_id
            and activity.corpus_id = poles.corpus_id
            and activity.layer = poles.layer
            and activity.neuron = poles.neuron
            and activity.domain = poles.domain
    where
        poles.is_impossible
        or poles.n_poles <> 2
        or poles.n_active > activity.n_positions
        -- Two sweeps may differ by rounding.
        or abs(poles.abs_sum - activity.activation_abs_sum) > 1e-2 * activity.activation_abs_sum + 1e-6
        or abs(poles.square_sum - activity.activation_square_sum) > 2e-2 * activity.activation_square_sum + 1e-6
),
cases as (
    select
        set_id as model_id, corpus_id, layer, neuron,
        sum(n_positions) as n_positions, sum(abs_sum) as abs_sum, count(*) as n_cases,
        bool_or(n_positions < 0 or abs_sum < 0) as is_impossible
    from store.gate_cases
    group by set_id, corpus_id, layer, neuron
),
wholes as (
    select model_id, corpus_id, layer, neuron, sum(n_active) as n_active, sum(abs_sum) as abs_sum
    from poles
    group by model_id, corpus_id, layer, neuron
),
wrong_cases as (
    select cases.model_id, cases.layer, cases.neuron, 'cases' as part
    from cases
    left join wholes
        on
            wholes.model_id = cases.model_id
            and wholes.corpus_id = cases.corpus_id
            and wholes.layer = cases.layer
            and wholes.neuron = cases.neuron
    where
        cases.is_impossible
        or cases.n_cases <> 4
        or wholes.n_active is distinct from cases.n_positions
        or abs(wholes.abs_sum - cases.abs_sum) > 1e-4 * wholes.abs_sum + 1e-6
),
ordered as (
    select
        set_id as model_id, corpus_id, layer, neuron, pole, rank, activation, sequence_id, position,
        row_number() over (
            partition by set_id, corpus_id, layer, neuron, pole
            order by abs(activation) desc, sequence_id, position
        ) as place_by_strength,
        count(*) over (partition by set_id, corpus_id, layer, neuron, pole, sequence_id) as n_of_sequence
    from store.pole_contexts
),
wrong_places as (
    select ordered.model_id, ordered.layer, ordered.neuron, ordered.pole::varchar || ', rank ' || ordered.rank as part
    from ordered
    left join store.sequences as sequences
        on sequences.corpus_id = ordered.corpus_id and sequences.sequence_id = ordered.sequence_id
    where
        sequences.sequence_id is null
        or ordered.position not between 0 and array_length(sequences.tokens) - 1
        or ordered.place_by_strength <> ordered.rank
        or ordered.n_of_sequence <> 1
        or (ordered.activation > 0) <> (ordered.pole = 'positive')
        or ordered.activation = 0
),
wrong_shares as (
    select set_id as model_id, layer, neuron, 'contribution' as part
    from store.contributions
    where
        contribution_mean < 0
        or root_mean_square < 0
        or n_positions < 1
        or contribution_mean > contribution_max * (1 + 1e-4)
        or contribution_mean_later > contribution_max_later * (1 + 1e-4)
        or contribution_max_later > contribution_max
        or (contribution_mean_later is null) <> (contribution_max_later is null)
)
select 'model ' || model_id || ', layer ' || layer || ', neuron ' || neuron || ', ' || part as place
from (
    select * from wrong_poles
    union all
    select * from wrong_cases
    union all
    select * from wrong_places
    union all
    select * from wrong_shares
)
