-- The ids that a model was run on come from the model's own tokenizer.
select 'run ' || runs.run_id || ', model ' || models.name || ', corpus ' || corpora.name as place
from store.runs as runs
inner join store.models as models on models.model_id = runs.model_id
inner join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
where corpora.tokenizer_id <> models.tokenizer_id
