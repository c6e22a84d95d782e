-- Tokens whose text matches a pattern; with $is_bytes those that are no whole characters, as the view token_quality has them.
with bytes as (
    select distinct models.tokenizer_id, indicators.token_id,
    from store.token_indicators as indicators
    inner join store.models as models on models.model_id = indicators.model_id
    where indicators.is_byte and $is_bytes
)
select tokens.tokenizer_id, tokens.token_id, tokens.text,
from store.tokens as tokens
left join bytes on bytes.tokenizer_id = tokens.tokenizer_id and bytes.token_id = tokens.token_id
where
    not tokens.is_special
    and list_contains($tokenizer_ids::integer[], tokens.tokenizer_id)
    and case when $is_bytes then bytes.token_id is not null else regexp_matches(tokens.text, $pattern) end
order by tokens.tokenizer_id, tokens.token_id
