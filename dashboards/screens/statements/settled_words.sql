-- Words of letters that an FFN brought to the top for good most often, those of most models first.
select
    tokens.word,
    count(distinct examples.model_id) as n_models,
    count(*) as n_examples,
from store.examples as examples
inner join measured_corpora
    on measured_corpora.model_id = examples.model_id and measured_corpora.corpus_id = examples.corpus_id
inner join store.models as models on models.model_id = examples.model_id
inner join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = examples.final_token
where
    measured_corpora.is_shown
    and examples.saturation_by_ffn
    and list_contains($models::varchar[], models.name)
    and regexp_full_match(tokens.word, '[a-z]{2,}')
group by tokens.word
order by n_models desc, n_examples desc, tokens.word
limit $limit
