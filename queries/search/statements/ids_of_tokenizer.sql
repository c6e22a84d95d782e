-- The ids that a tokenizer has, rising.
select token_id,
from store.tokens
where tokenizer_id = $tokenizer_id
order by token_id
