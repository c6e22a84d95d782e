-- How often and how strongly one neuron's coefficient has which sign, and its gate and up projection which signs.
select
    pole::varchar as name, sum(n_active)::bigint as n_active, sum(n_strong)::bigint as n_strong, sum(abs_sum) as abs_sum,
    max(largest)::double as largest,
from store.pole_activity
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
group by pole
union all
select gate_case::varchar as name, n_positions as n_active, null as n_strong, abs_sum, null as largest,
from store.gate_cases
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
