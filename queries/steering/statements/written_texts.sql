-- Whether a model wrote texts with neurons changed, on a corpus.
select count(*) > 0 as is_there
from store.continuations
where model_id = $model_id and corpus_id = $corpus_id
