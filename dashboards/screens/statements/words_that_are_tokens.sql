-- Those of some words that are tokens of any tokenizer, in the order in which they are given.
select asked.word,
from (select unnest($words::varchar[]) as word, generate_subscripts($words::varchar[], 1) as place) as asked
where exists (select 1 from store.tokens as tokens where tokens.word = lower(asked.word))
order by asked.place
