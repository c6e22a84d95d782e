-- Tokens that read as $word without surrounding white space and case.
select tokenizer_id, token_id, text,
from store.tokens
where word = $word and list_contains($tokenizer_ids::integer[], tokenizer_id)
order by tokenizer_id, token_id
