-- Neurons whose lists overlap with those of one neuron, weighted by places: a token at rank r weighs 1 / log2(1 + r).
with
/* where layers are chosen */
compared as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($model_first_layers::integer[]) as first_layer,
        unnest($model_last_layers::integer[]) as last_layer,
),
/* end of layers are chosen */
lists as (
    select
        unnest($own_sides::varchar[]) as effect,
        unnest($own_token_ids::integer[]) as token_id,
        unnest($own_ranks::integer[]) as rank,
),
own as (
    select token_id, rank, effect, effect as side, 1 as pole,
    from lists
    /* where signs are two */
    union all
    -- What another neuron does at a negative coefficient stands in its other list.
    select
        token_id,
        rank,
        effect,
        case effect when 'promoted' then 'suppressed' else 'promoted' end as side,
        -1 as pole,
    from lists
    /* end of signs are two */
),
whole as (
    select sum(1 / log2(1 + rank)) as weight,
    from lists
),
hits as (
    select
        postings.model_id,
        postings.layer,
        postings.neuron,
        own.pole,
        own.effect,
        -- The smaller of two weights is that of the later place.
        1 / log2(1 + greatest(own.rank, postings.rank)) as weight,
    from (
        -- Tokens of one side are looked for in the groups of rows; a join with two keys would read all of these groups.
        select set_id as model_id, token_id, 'promoted' as side, layer, neuron, rank,
        from store.postings
        where side = 'promoted' and token_id in (select token_id from own where side = 'promoted')
        union all
        select set_id as model_id, token_id, 'suppressed' as side, layer, neuron, rank,
        from store.postings
        where side = 'suppressed' and token_id in (select token_id from own where side = 'suppressed')
    ) as postings
    inner join own
        on own.token_id = postings.token_id and own.side = postings.side
        /* where signs are two */
        and (own.pole = 1 or $is_signed or list_contains($signed_models::integer[], postings.model_id))
        /* end of signs are two */
    /* where layers are chosen */
    inner join compared on compared.model_id = postings.model_id
    where postings.layer between compared.first_layer and compared.last_layer
    /* end of layers are chosen */
    /* where models are chosen */
    where list_contains($model_ids::integer[], postings.model_id)
    /* end of models are chosen */
),
sums as materialized (
    select
        model_id,
        layer,
        neuron,
        pole,
        count(*) filter (where effect = 'promoted') as n_promoted,
        count(*) filter (where effect = 'suppressed') as n_suppressed,
        sum(weight) as shared,
    from hits
    group by model_id, layer, neuron, pole
    /* where signs are two */
    qualify row_number() over (partition by model_id, layer, neuron order by shared desc, pole desc) = 1
    /* end of signs are two */
),
weighed as (
    -- All lists of a tokenizer are of one length, so that both neurons have the same whole weight.
    select
        sums.model_id,
        sums.layer,
        sums.neuron,
        sums.pole,
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
        (/* the conditions on neurons */ true)
),
/* end of neurons are chosen */
kept as (
    select
        weighed.model_id,
        weighed.layer,
        weighed.neuron,
        weighed.pole,
        weighed.n_promoted,
        weighed.n_suppressed,
        weighed.overlap,
    from weighed
    /* where neurons are chosen */
    inner join store.models as models on models.model_id = weighed.model_id
    inner join chosen
        on chosen.model = models.name and chosen.layer = weighed.layer and chosen.neuron = weighed.neuron
    /* end of neurons are chosen */
)
-- The neuron itself is among them: a condition that leaves it out would be asked of every posting.
select
    model_id,
    layer,
    neuron,
    pole,
    overlap,
    n_promoted,
    n_suppressed,
    (
        select count(*) filter (where not (model_id = $model_id and layer = $layer and neuron = $neuron))
        from kept
    ) as n_found,
from kept
order by overlap desc, list_position($models_by_name::integer[], model_id), layer, neuron
limit $n_rows
