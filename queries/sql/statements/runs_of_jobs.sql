-- Published runs of some jobs, newest first.
select
    runs.run_id,
    runs.job,
    models.name as model,
    corpora.name as corpus,
    runs.finished_at,
    runs.parameters,
from store.runs as runs
inner join store.models as models on models.model_id = runs.model_id
left join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
where list_contains($jobs::varchar[], runs.job)
order by runs.run_id desc
