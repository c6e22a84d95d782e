-- A neuron and its first counterpart overlap as their lists of tokens do.
with pairs as (
    select
        row_number() over () as pair,
        'model ' || found.model_id || ', layer ' || found.layer || ', neuron ' || found.neuron
        || ', model ' || found.other_model_id as place,
        found.overlap,
        mine.top_token_ids, mine.bottom_token_ids,
        theirs.top_token_ids as other_top_token_ids, theirs.bottom_token_ids as other_bottom_token_ids
    from store.counterparts as found
    left join store.projections as mine
        on mine.model_id = found.model_id and mine.layer = found.layer and mine.neuron = found.neuron
    left join store.projections as theirs
        on
            theirs.model_id = found.other_model_id
            and theirs.layer = found.other_layer
            and theirs.neuron = found.other_neuron
    where found.rank = 1
),
listed as (
    select pair, 1 as side, unnest(top_token_ids) as token_id, generate_subscripts(top_token_ids, 1) as rank
    from pairs
    union all
    select pair, 2 as side, unnest(bottom_token_ids) as token_id, generate_subscripts(bottom_token_ids, 1) as rank
    from pairs
),
other_listed as (
    select
        pair, 1 as side, unnest(other_top_token_ids) as token_id,
        generate_subscripts(other_top_token_ids, 1) as rank
    from pairs
    union all
    select
        pair, 2 as side, unnest(other_bottom_token_ids) as token_id,
        generate_subscripts(other_bottom_token_ids, 1) as rank
    from pairs
),
sums as (
    select
        coalesce(listed.pair, other_listed.pair) as pair,
        sum(1 / log2(1 + greatest(listed.rank, other_listed.rank)))
            filter (where listed.rank is not null and other_listed.rank is not null) as smaller,
        -- Where only one of them lists a token the other's rank is null, and left out.
        sum(1 / log2(1 + least(listed.rank, other_listed.rank))) as larger
    from listed
    full join other_listed
        on
            other_listed.pair = listed.pair
            and other_listed.side = listed.side
            and other_listed.token_id = listed.token_id
    group by 1
)
select pairs.place
from pairs
left join sums on sums.pair = pairs.pair
-- A hundred weights added in another order differ by 1e-14.
where coalesce(abs(sums.smaller / sums.larger - pairs.overlap) > 1e-9, true)
