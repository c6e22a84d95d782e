-- Neurons whose lists overlap with those of one neuron, weighted by places: a token at rank r weighs 1 / log2(1 + r).
with compared as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($model_first_layers::integer[]) as first_layer,
        unnest($model_last_layers::integer[]) as last_layer,
),
own as (
    select
        unnest($own_sides::varchar[]) as side,
        unnest($own_token_ids::integer[]) as token_id,
        unnest($own_ranks::integer[]) as rank,
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
        -- Written out, which tells DuckDB which groups of rows to read: a join reads all from the first to the last.
        postings.token_id in (/* all of token_id */)
        and postings.layer between compared.first_layer and compared.last_layer
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
-- Left out where nothing is asked of the neurons: millions are not looked through.
/* where neurons are chosen */
chosen as (
    select model, layer, neuron,
    from neurons
    where
        (/* the condition of --where */ true)
        and (not $alive or n_active > 0)
),
/* end of neurons are chosen */
kept as materialized (
    select
        models.name as model,
        weighed.model_id,
        weighed.layer,
        weighed.neuron,
        weighed.n_promoted,
        weighed.n_suppressed,
        weighed.overlap,
    from weighed
    inner join store.models as models on models.model_id = weighed.model_id
    /* where neurons are chosen */
    inner join chosen
        on chosen.model = models.name and chosen.layer = weighed.layer and chosen.neuron = weighed.neuron
    /* end of neurons are chosen */
),
found as (
    -- The first few are taken before they are numbered: most neurons share some token, and are not put in order.
    select model, model_id, layer, neuron, n_promoted, n_suppressed, overlap,
    from kept
    order by overlap desc, model, layer, neuron
    limit $limit
)
select
    row_number() over (order by overlap desc, model, layer, neuron) as place,
    model,
    model_id,
    layer,
    neuron,
    overlap,
    n_promoted,
    n_suppressed,
    (select count(*) from kept) as n_found,
from found
order by place
