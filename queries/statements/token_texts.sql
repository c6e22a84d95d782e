-- Texts of some tokens.
select token_id, text,
from store.tokens
where tokenizer_id = $tokenizer_id and token_id in (select unnest($token_ids::integer[]))
