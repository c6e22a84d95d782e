-- A run that says how tokens were trained says it of each token of its model, with one limit and possible distances.
with vocabularies as (
    select models.model_id, count(*) as n_tokens
    from store.models as models
    inner join store.tokens as tokens on tokens.tokenizer_id = models.tokenizer_id
    group by models.model_id
),
found as (
    select
        model_id,
        count(*) as n_tokens,
        count(distinct unused_limit) as n_limits,
        -- Rounding takes a cosine beyond 1.
        count_if(unused_distance not between -1e-9 and 2 + 1e-9 or row_norm < 0) as n_impossible,
    from store.token_indicators
    group by model_id
)
select 'tokens of model ' || found.model_id as place
from found
left join vocabularies on vocabularies.model_id = found.model_id
where
    found.n_tokens is distinct from vocabularies.n_tokens
    or found.n_limits > 1
    or found.n_impossible > 0
