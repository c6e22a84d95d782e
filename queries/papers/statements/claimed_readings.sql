-- One row per validation sentence, method and state below the last: whether it says what the model says, and how much
-- that surprises the model.
select
    models.name as model,
    readings.method,
    readings.state,
    readings.sentence_id,
    case when readings.rank_in_model = 1 then 1.0 else 0.0 end as is_first,
    readings.surprisal,
from store.shortcut_readings as readings
inner join store.models as models on models.model_id = readings.model_id
inner join measured_corpora as corpora
    on corpora.model_id = readings.model_id and corpora.corpus_id = readings.corpus_id and corpora.is_shown
where list_contains($models::varchar[], models.name) and readings.state < models.n_layers
order by models.n_parameters, readings.sentence_id
