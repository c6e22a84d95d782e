-- Neurons whose lists overlap with those of one neuron, weighted by places: a token at rank r weighs 1 / log2(1 + r).
with compared as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($model_first_layers::integer[]) as first_layer,
        unnest($model_last_layers::integer[]) as last_layer,
),
own as (
    select 'promoted' as side, unnest(top_token_ids) as token_id, generate_subscripts(top_token_ids, 1) as rank,
    from store.projections
    where model_id = $model_id and layer = $layer and neuron = $neuron
    union all
    select 'suppressed', unnest(bottom_token_ids), generate_subscripts(bottom_token_ids, 1),
    from store.projections
    where model_id = $model_id and layer = $layer and neuron = $neuron
),
whole as (
    select sum(1 / log2(1 + rank)) as weight,
    from own
),
hits as (
    select
        postings.model_id,
        postings.layer,
        postings.neuron,
        postings.side,
        postings.token_id,
        -- The smaller of two weights is that of the later place.
        1 / log2(1 + greatest(own.rank, postings.rank)) as weight,
    from store.postings as postings
    inner join own on own.token_id = postings.token_id and own.side = postings.side
    inner join compared on compared.model_id = postings.model_id
    where postings.layer between compared.first_layer and compared.last_layer
),
sums as (
    select
        model_id,
        layer,
        neuron,
        count(*) filter (where side = 'promoted') as n_promoted,
        count(*) filter (where side = 'suppressed') as n_suppressed,
        sum(weight) as shared,
    from hits
    group by model_id, layer, neuron
    -- An aggregate, lest the condition is asked of every posting.
    having not bool_and(model_id = $model_id and layer = $layer and neuron = $neuron)
),
weighed as (
    -- All lists of a tokenizer are of one length, so that both neurons have the same whole weight.
    select
        sums.model_id,
        sums.layer,
        sums.neuron,
        sums.n_promoted,
        sums.n_suppressed,
        sums.shared / (2 * whole.weight - sums.shared) as overlap,
    from sums
    cross join whole
),
chosen as (
    select model, layer, neuron,
    from neurons
    where
        (/* the condition of --where */ true)
        -- Millions of neurons are not looked through where nothing is asked of them.
        and $is_filtered
        and (not $alive or n_active > 0)
),
kept as (
    select model_id, layer, neuron, n_promoted, n_suppressed, overlap,
    from weighed
    where not $is_filtered
    union all
    select weighed.model_id, weighed.layer, weighed.neuron, weighed.n_promoted, weighed.n_suppressed, weighed.overlap,
    from weighed
    inner join store.models as models on models.model_id = weighed.model_id
    inner join chosen
        on chosen.model = models.name and chosen.layer = weighed.layer and chosen.neuron = weighed.neuron
),
found as materialized (
    select
        row_number() over (order by kept.overlap desc, models.name, kept.layer, kept.neuron) as place,
        models.name as model,
        kept.model_id,
        kept.layer,
        kept.neuron,
        kept.overlap,
        kept.n_promoted,
        kept.n_suppressed,
        count(*) over () as n_found,
    from kept
    inner join store.models as models on models.model_id = kept.model_id
    qualify place <= $limit
),
places as materialized (
    -- Found by its narrow columns first, a row's wide lists are then read alone: a quarter of the time.
    select facts.rowid as row_number,
    from store.neuron_facts as facts
    inner join found
        on found.model_id = facts.model_id and found.layer = facts.layer and found.neuron = facts.neuron
),
facts as materialized (
    select model_id, layer, neuron, address, depth, top_tokens, n_active, n_positions,
    from store.neuron_facts
    where rowid in (select row_number from places)
)
select
    found.place,
    facts.address,
    found.model,
    found.layer,
    found.neuron,
    facts.depth,
    found.overlap,
    found.n_promoted,
    found.n_suppressed,
    facts.top_tokens,
    facts.n_active::double / nullif(facts.n_positions, 0) as frequency,
    found.n_found,
from found
inner join facts
    on facts.model_id = found.model_id and facts.layer = found.layer and facts.neuron = found.neuron
order by found.place
