-- Texts of some tokens of one tokenizer.
select
    token_id,
    text,
from store.tokens
where tokenizer_id = $tokenizer_id and list_contains($token_ids::integer[], token_id)
