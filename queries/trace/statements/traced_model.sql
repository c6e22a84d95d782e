-- Where the weights of one model came from, and what the warehouse knows them by.
select
    name,
    source,
    revision,
    weights_sha256,
    tokenizer_id,
from store.models
where name = $model
