-- The jobs that were run on each model, each with the corpus that it read; how many examples its events were told from.
select
    models.name as model,
    list(runs.job order by runs.run_id) filter (runs.job is not null) as jobs,
    list(runs.corpus_id order by runs.run_id) filter (runs.job is not null) as corpus_ids,
    max(case when runs.job = 'events' then json_extract(runs.parameters, '$.n_examples')::bigint end) as n_examples,
from store.models as models
left join store.runs as runs on runs.model_id = models.model_id
where list_contains($models::varchar[], models.name)
group by models.name
order by models.name
