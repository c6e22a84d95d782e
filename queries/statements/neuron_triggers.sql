-- The n-grams that one neuron is active on most often, on one corpus.
select
    triggers.n,
    triggers.rank,
    concat_ws('', first_tokens.text, second_tokens.text, third_tokens.text) as text,
    triggers.token_ids,
    triggers.n_active,
    triggers.n_occurrences,
    triggers.n_active::double / triggers.n_occurrences as recall,
    triggers.n_active::double / ngrams.n_active as share,
    triggers.score,
    triggers.z_score,
    triggers.rank_from_bottom,
from store.triggers as triggers
inner join store.models as models on models.model_id = triggers.model_id
inner join store.ngrams as ngrams
    on ngrams.model_id = triggers.model_id
    and ngrams.corpus_id = triggers.corpus_id
    and ngrams.layer = triggers.layer
    and ngrams.neuron = triggers.neuron
    and ngrams.n = triggers.n
inner join store.tokens as first_tokens
    on first_tokens.tokenizer_id = models.tokenizer_id and first_tokens.token_id = triggers.token_ids[1]
left join store.tokens as second_tokens
    on second_tokens.tokenizer_id = models.tokenizer_id and second_tokens.token_id = triggers.token_ids[2]
left join store.tokens as third_tokens
    on third_tokens.tokenizer_id = models.tokenizer_id and third_tokens.token_id = triggers.token_ids[3]
where
    models.name = $model
    and triggers.layer = $layer
    and triggers.neuron = $neuron
    and triggers.corpus_id = $corpus_id
order by triggers.n, triggers.rank
