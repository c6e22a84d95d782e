-- What rules on sub-updates and on classifiers that stop a model early get right and save, a seed a row.
select
    models.name as model,
    exits.method,
    exits.seed,
    exits.n,
    exits.accuracy,
    exits.layers_saved,
    exits.layers_saved / models.n_layers as saved_share,
from store.exits as exits
inner join store.models as models on models.model_id = exits.model_id
inner join measured_corpora as corpora
    on corpora.model_id = exits.model_id and corpora.corpus_id = exits.corpus_id and corpora.is_shown
where list_contains($models::varchar[], models.name) and exits.seed is not null
order by models.n_parameters, exits.method, exits.seed
