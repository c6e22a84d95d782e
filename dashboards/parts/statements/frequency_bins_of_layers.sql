-- How the neurons that fired spread over frequencies in each layer of one model, without exact zeros over effective ones:
-- six bins per factor of ten, down to 1e-4.
with chosen as (
    select layer, case when is_dead is null then effective_frequency else frequency end as frequency,
    from neurons
    where model = $model
),
bins as (
    select
        layer,
        -- What fires less than once in 10,000 tokens is in the first bin, and at every token in the last.
        cast(greatest(least(floor(6 * log10(frequency)), -1), -24) + 24 as integer) as bin,
    from chosen
    where frequency > 0
)
select layer, bin, pow(10, (bin - 24) / 6) as frequency_from, count(*) as n_neurons,
from bins
group by layer, bin
order by layer, bin
