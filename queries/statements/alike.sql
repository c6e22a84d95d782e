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
    where
        postings.layer between compared.first_layer and compared.last_layer
        and not (postings.model_id = $model_id and postings.layer = $layer and postings.neuron = $neuron)
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
    select model, layer, neuron, address, depth, top_tokens, frequency, n_active,
    from neurons
    where
        (/* the condition of --where */ true)
)
select
    row_number() over (order by weighed.overlap desc, models.name, weighed.layer, weighed.neuron) as place,
    chosen.address,
    chosen.model,
    chosen.layer,
    chosen.neuron,
    chosen.depth,
    weighed.overlap,
    weighed.n_promoted,
    weighed.n_suppressed,
    chosen.top_tokens,
    chosen.frequency,
    count(*) over () as n_found,
from weighed
inner join store.models as models on models.model_id = weighed.model_id
inner join chosen
    on chosen.model = models.name and chosen.layer = weighed.layer and chosen.neuron = weighed.neuron
where not $alive or chosen.n_active > 0
qualify place <= $limit
order by place
