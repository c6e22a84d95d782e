-- A judgement of plausibility is about a text and one to five tokens of its model, and a person made it.
select 'judgement ' || judgements.judgement_id as place
from store.plausibility_judgements as judgements
left join store.models as models on models.model_id = judgements.model_id
where
    models.model_id is null
    or judgements.text = ''
    or len(judgements.shown_token_ids) not between 1 and 5
    or len(list_distinct(judgements.shown_token_ids)) <> len(judgements.shown_token_ids)
    or trim(judgements.annotator) in ('', 'all', 'rules')
union all
select 'judgement ' || shown.judgement_id as place
from (
    select judgement_id, model_id, unnest(shown_token_ids) as token_id from store.plausibility_judgements
) as shown
inner join store.models as models on models.model_id = shown.model_id
left join store.tokens as tokens
    on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = shown.token_id
where tokens.token_id is null
