-- The best places of one word's tokens in the lists of neurons: the first place of a neuron here is its own best.
-- What a search of one word without further conditions asks; `search` answers every other question.
with hits as materialized (
    -- See queries/ask/one_query.py.
    /* where tokens are few */
    /* for each token_id */
    select set_id as model_id, layer, neuron, token_id, side, rank, score, z_score,
    from store.postings
    where
        token_id = $token_id
        and set_id between $first_model and $last_model
        and list_contains($models_by_name::integer[], set_id)
        /* where one side is asked */
        and (side = $side or list_contains($signed_models::integer[], set_id))
        /* end of one side is asked */
    /* end */
    /* end of tokens are few */
    /* where tokens are many */
    select set_id as model_id, layer, neuron, token_id, side, rank, score, z_score,
    from store.postings
    where
        token_id in (select unnest($all_token_ids::integer[]))
        and set_id between $first_model and $last_model
        and list_contains($models_by_name::integer[], set_id)
        /* where one side is asked */
        and (side = $side or list_contains($signed_models::integer[], set_id))
        /* end of one side is asked */
    /* end of tokens are many */
)
select
    model_id,
    layer,
    neuron,
    token_id,
    side,
    rank,
    score::double as score,
    z_score::double as z_score,
    case side when 'promoted' then z_score::double else -z_score::double end as strength,
    /* where neurons are listed once */
    (select count(*) from hits) as n_found,
    /* end of neurons are listed once */
    /* where neurons are listed more than once */
    (select count(distinct (model_id::bigint * 65536 + layer) * 4294967296 + neuron) from hits) as n_found,
    /* end of neurons are listed more than once */
from hits
order by strength desc, list_position($models_by_name::integer[], model_id), layer, neuron, rank, side, token_id
limit $n_rows
