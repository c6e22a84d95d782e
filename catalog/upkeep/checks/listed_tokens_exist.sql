-- Every token that a neuron promotes, suppresses, reads or is near to belongs to the model's tokenizer.
with named as (
    select set_id as model_id, token_id from store.postings
    union
    select set_id as model_id, token_id from store.key_postings
    union
    select model_id, token_id from store.token_neighbours
    union
    select model_id, neighbour_id as token_id from store.token_neighbours
)
select 'model ' || named.model_id || ', token ' || named.token_id as place
from named
inner join store.models as models on models.model_id = named.model_id
left join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = named.token_id
where tokens.token_id is null
