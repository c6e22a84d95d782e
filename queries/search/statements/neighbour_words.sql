-- The words nearest to some tokens of a model, by the largest cosine of their unembedding rows; without these words.
with asked as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($token_ids::integer[]) as token_id,
        unnest($words::varchar[]) as asked_word,
),
near as (
    select asked.model_id, asked.asked_word, tokens.word, max(neighbours.cosine)::double as cosine,
    from asked
    inner join store.token_neighbours as neighbours
        on neighbours.model_id = asked.model_id and neighbours.token_id = asked.token_id
    inner join store.models as models on models.model_id = asked.model_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = neighbours.neighbour_id
    where not tokens.is_special and tokens.word <> '' and not list_contains($known::varchar[], tokens.word)
    group by asked.model_id, asked.asked_word, tokens.word
)
select model_id, asked_word, word, cosine,
from near
qualify row_number() over (partition by model_id, asked_word order by cosine desc, word) <= $limit
order by model_id, asked_word, cosine desc, word
