-- How the neurons that fired are spread over frequencies: eight bins per factor of ten.
with bins as (
    select
        model,
        size,
        n_tokens_seen,
        -- A neuron that fires at every position belongs to the last bin below 1.
        least(floor(8 * log10(frequency)), -1) as bin,
    from neurons
    where frequency > 0 and list_contains($models::varchar[], model)
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
