-- The neurons of one model, or of one of its layers, in cells, a row of at most $n_cells for each layer, put in order by what colours them ($by).
-- Without exact zeros a neuron is as active as its effective frequency says. In every layer those that never fired, or are
-- negligible, stand last. A cell of several neurons has the rarest of their kinds, and leads to
-- the neuron of that kind whose scores stand out most (excess kurtosis).
with labelled as (
    select
        layer,
        neuron,
        case when is_dead is null then effective_frequency else frequency end as frequency,
        first_active,
        kurtosis,
        case
            when coalesce(is_dead, is_negligible, never_active and coalesce(effective_frequency, 0) = 0) then 1
            else 0
        end as is_silent,
        -- Rarest first; the places of the list below.
        case
            when is_provably_dead and never_active then 3
            when is_dead then 4
            when is_dead is null and is_negligible then 8
            when is_dead is null and coalesce(effective_frequency, 0) = 0 and never_active then 5
            when token_status = 'detector' then 1
            when position_kind not in ('not positional', 'too few sequences') then 2
            when is_dead is null and effective_frequency > 0 then 9
            when frequency > 0 then 6
            else 7
        end as rarity,
    from neurons
    where model = $model and ($layer is null or layer = $layer)
),
keyed as (
    select
        layer,
        neuron,
        rarity,
        -- One number to sort by is faster than five.
        case $by
            when 'frequency' then is_silent * 2 - coalesce(frequency, 0)
            when 'first firing' then coalesce(first_active, case when rarity = 3 then 2e15 else 1e15 end)
            when 'kurtosis' then is_silent * 1e9 - coalesce(kurtosis, -1e6)
            else case
                    when rarity in (6, 7, 9) then 3
                    when rarity in (4, 5, 8) then 4
                    when rarity = 3 then 5
                    else rarity
                end * 2
                - coalesce(frequency, 0)
        end as sort_key,
        -- The rarest kind first, then the highest kurtosis, then the first neuron.
        rarity * 1e6 - coalesce(kurtosis, -1e5) + neuron * 1e-9 as striking,
        case $by when 'first firing' then first_active when 'kurtosis' then kurtosis else frequency end as number,
    from labelled
),
placed as (
    select
        layer,
        neuron,
        rarity,
        striking,
        number,
        row_number() over (partition by layer order by sort_key, neuron) - 1 as place,
        count(*) over (partition by layer) as n_of_layer,
    from keyed
),
cells as (
    select
        layer,
        cast(place * least($n_cells, n_of_layer) // n_of_layer as integer) as cell,
        min(place) / min(n_of_layer) as cell_from,
        (max(place) + 1) / min(n_of_layer) as cell_to,
        count(*) as n_neurons,
        min(rarity) as rarity,
        arg_min(neuron, striking) as neuron,
        avg(number) as number,
    from placed
    group by all
)
select
    layer,
    cell,
    cell_from,
    cell_to,
    n_neurons,
    list_extract(
        [
            'token detector', 'positional', 'provably dead', 'dead', 'never active', 'fires', 'not run on text', 'negligible',
            'others'
        ],
        rarity
    ) as kind,
    neuron,
    $model || '/L' || layer || 'N' || neuron as address,
    number,
from cells
order by layer, cell
