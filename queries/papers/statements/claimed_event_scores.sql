-- One row per event that an FFN caused and kind of sub-update: the largest, the mean, the smallest and the mean absolute
-- score of ten neurons for the token that the event is about.
select
    models.name as model, events.example_id, events.kind as event, sub_updates.kind,
    max(case when events.kind = 'saturation' then score_final else score_candidate end)::double as max,
    avg(case when events.kind = 'saturation' then score_final else score_candidate end) as mean,
    min(case when events.kind = 'saturation' then score_final else score_candidate end)::double as min,
    avg(abs(case when events.kind = 'saturation' then score_final else score_candidate end)) as size
from store.events as events
inner join measured_corpora as corpora
    on corpora.model_id = events.model_id and corpora.corpus_id = events.corpus_id and corpora.is_shown
inner join store.models as models on models.model_id = events.model_id
inner join store.sub_updates as sub_updates
    on sub_updates.set_id = events.model_id and sub_updates.corpus_id = events.corpus_id
    and sub_updates.example_id = events.example_id and sub_updates.layer = events.layer
where list_contains($models::varchar[], models.name) and events.by_ffn
group by models.name, models.n_parameters, events.example_id, events.kind, sub_updates.kind
order by models.n_parameters, events.example_id
