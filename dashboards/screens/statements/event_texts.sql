-- Texts in which an FFN brought a word to the top for good, the two of each model whose length is nearest to ten ids; only
-- those of one line whose ids are whole characters, so that the text can be typed as the model read it.
with shown as (
    select
        models.name as model,
        models.tokenizer_id,
        models.size,
        models.n_layers,
        examples.example_id,
        examples.saturation_layer as layer,
        final.text as token,
        examples.tokens as ids,
        examples.n_prefix_tokens,
        measured_corpora.corpus,
    from store.examples as examples
    inner join measured_corpora
        on measured_corpora.model_id = examples.model_id and measured_corpora.corpus_id = examples.corpus_id
    inner join store.models as models on models.model_id = examples.model_id
    inner join store.tokens as final
        on final.tokenizer_id = models.tokenizer_id and final.token_id = examples.final_token
    where
        measured_corpora.is_shown
        and examples.saturation_by_ffn
        and list_contains($models::varchar[], models.name)
        and final.word = $word
),
nearest as (
    select *
    from shown
    qualify row_number() over (partition by model order by abs(n_prefix_tokens - 10), example_id) <= 40
),
spelled as (
    select
        nearest.model,
        nearest.example_id,
        string_agg(tokens.text, '' order by places.place) as prompt,
        bool_and(not starts_with(tokens.text, '\x')) as is_text,
    from nearest
    cross join lateral (
        select unnest(nearest.ids) as token_id, generate_subscripts(nearest.ids, 1) as place
    ) as places
    inner join store.tokens as tokens
        on tokens.tokenizer_id = nearest.tokenizer_id and tokens.token_id = places.token_id
    where not tokens.is_special
    group by nearest.model, nearest.example_id
)
select nearest.model, nearest.layer, nearest.n_layers, nearest.token, spelled.prompt, nearest.corpus,
from nearest
inner join spelled on spelled.model = nearest.model and spelled.example_id = nearest.example_id
where spelled.is_text and length(trim(spelled.prompt)) > 0 and not contains(spelled.prompt, chr(10))
qualify
    row_number() over (partition by nearest.model order by abs(nearest.n_prefix_tokens - 10), nearest.example_id) <= 2
order by nearest.size, nearest.model, abs(nearest.n_prefix_tokens - 10), nearest.example_id
