-- The ids that a model was run on come from the model's own tokenizer, the same for all of its runs.
select 'run ' || runs.run_id || ', model ' || models.name || ', corpus ' || corpora.name as place
from store.runs as runs
inner join store.models as models on models.model_id = runs.model_id
inner join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
where
    corpora.tokenizer_id <> models.tokenizer_id
    or runs.tokenizer_identity <> (
        select arg_max(latest.tokenizer_identity, latest.finished_at)
        from store.runs as latest
        where latest.model_id = runs.model_id and latest.corpus_id is not null
    )
