-- The words among the tokens that take the fewest edits to become $word.
with known as (
    select distinct word,
    from store.tokens
    where
        word <> ''
        and not is_special
        and abs(length(word) - length($word)) <= $most_edits
        and list_contains($tokenizer_ids::integer[], tokenizer_id)
),
distances as (
    select word, damerau_levenshtein(word, $word) as n_edits,
    from known
)
select word,
from distances
where n_edits <= $most_edits
order by n_edits, jaro_winkler_similarity(word, $word) desc, word
limit 5
