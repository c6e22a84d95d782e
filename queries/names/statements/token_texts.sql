-- Texts of some tokens.
select tokens.token_id, tokens.text,
from (select unnest($token_ids::integer[]) as token_id) as asked
inner join store.tokens as tokens on tokens.token_id = asked.token_id
where tokens.tokenizer_id = $tokenizer_id
