-- Where some neurons list some tokens of a model.
with asked as (
    select
        unnest($token_ids::integer[]) as token_id,
        unnest($sides::varchar[]) as side,
        unnest($layers::integer[]) as layer,
        unnest($neurons::integer[]) as neuron,
)
select
    postings.token_id,
    postings.side::varchar as side,
    postings.layer,
    postings.neuron,
    postings.rank,
    postings.score::double as score,
    postings.z_score::double as z_score,
from store.postings as postings
inner join asked
    on asked.token_id = postings.token_id and asked.side = postings.side
    and asked.layer = postings.layer and asked.neuron = postings.neuron
where
    postings.set_id = $model_id
    and postings.token_id in (select unnest($distinct_token_ids::integer[]))
