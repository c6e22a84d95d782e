-- Texts of some tokens, whether they are special, and how often each occurs in a corpus: null where it does not, or there is no corpus.
with asked as (
    select unnest($token_ids::integer[]) as token_id
),
counted as (
    select counts.token_id, sum(counts.n_occurrences)::bigint as n_occurrences
    from asked
    inner join store.token_counts as counts on counts.token_id = asked.token_id
    where counts.corpus_id = $corpus_id
    group by counts.token_id
)
select tokens.token_id, tokens.text, tokens.is_special, counted.n_occurrences,
from asked
inner join store.tokens as tokens on tokens.token_id = asked.token_id
left join counted on counted.token_id = asked.token_id
where tokens.tokenizer_id = $tokenizer_id
