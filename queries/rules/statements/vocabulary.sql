-- The tokens of a tokenizer, without the special ones.
select token_id, text
from store.tokens
where tokenizer_id = $tokenizer_id and not is_special
order by token_id
