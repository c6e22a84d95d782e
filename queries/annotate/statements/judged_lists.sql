-- The sentences and lists of one model whose plausibility one annotator has judged.
select distinct text, shown_token_ids as token_ids
from store.plausibility_judgements
where model_id = $model_id and annotator = $annotator
