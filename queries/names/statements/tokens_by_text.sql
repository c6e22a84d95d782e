-- Tokens whose exact text is $text.
select tokenizer_id, token_id, text,
from store.tokens
where text = $text and list_contains($tokenizer_ids::integer[], tokenizer_id)
order by tokenizer_id, token_id
