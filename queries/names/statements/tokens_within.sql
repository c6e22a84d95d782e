-- Tokens that occur inside $text: the pieces it may be split into. Two ids of one text are one piece, the lower id.
select tokenizer_id, min(token_id) as token_id, text,
from store.tokens
where
    not is_special
    and text <> ''
    and contains($text, text)
    and list_contains($tokenizer_ids::integer[], tokenizer_id)
group by tokenizer_id, text
order by tokenizer_id, token_id
