-- The jobs that were run on each model: of those that read text, the ones on its shown corpus.
select
    models.name as model,
    list(distinct runs.job) as jobs,
from store.models as models
inner join store.runs as runs on runs.model_id = models.model_id
left join measured_corpora as corpora
    on corpora.model_id = runs.model_id and corpora.corpus_id = runs.corpus_id and corpora.is_shown
where
    list_contains($models::varchar[], models.name)
    and (runs.corpus_id is null or corpora.corpus_id is not null)
group by models.name
