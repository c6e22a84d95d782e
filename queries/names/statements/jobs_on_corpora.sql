-- Which jobs some models were measured by on which corpora, and whether n-grams count strong activations alone.
select distinct
    models.name as model,
    runs.job,
    runs.corpus_id,
    coalesce(runs.job = 'ngrams' and runs.parameters like '%"activation_rule": "|m|%', false) as counts_strong,
from store.models as models
left join store.runs as runs on runs.model_id = models.model_id and runs.corpus_id is not null
where list_contains($models::varchar[], models.name)
