-- Tokens of every tokenizer that read as $word without surrounding white space and case.
select tokenizer_id, token_id, text,
from store.tokens
where word = $word
