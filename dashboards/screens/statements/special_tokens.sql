-- Texts of the special tokens of a model.
select tokens.text as token
from store.models as models
inner join store.tokens as tokens on tokens.tokenizer_id = models.tokenizer_id
where models.name = $model and tokens.is_special
order by tokens.token_id
