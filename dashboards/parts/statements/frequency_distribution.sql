-- How the neurons that fired are spread over frequencies, without exact zeros over effective ones: eight bins per factor of
-- ten.
with chosen as (
    select model, size, n_tokens_seen, case when is_dead is null then effective_frequency else frequency end as frequency,
    from neurons
    where list_contains($models::varchar[], model)
),
bins as (
    select
        model,
        size,
        n_tokens_seen,
        -- A neuron that fires at every position belongs to the last bin below 1.
        least(floor(8 * log10(frequency)), -1) as bin,
    from chosen
    where frequency > 0
),
counted as (
    select model, size, bin, max(n_tokens_seen) as n_tokens_seen, count(*) as n_neurons,
    from bins
    group by model, size, bin
)
select
    model,
    pow(10, bin / 8) as frequency_from,
    pow(10, (bin + 1) / 8) as frequency_to,
    pow(10, (bin + 0.5) / 8) as frequency,
    n_neurons,
    n_neurons / sum(n_neurons) over (partition by model) as share,
    n_tokens_seen,
from counted
order by size, model, bin
