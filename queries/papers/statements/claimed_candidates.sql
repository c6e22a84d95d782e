-- One row per example and layer: what the ten dominant neurons do to the token at the top before their FFN.
select
    models.name as model, sub_updates.layer, sub_updates.example_id,
    max(score_candidate)::double as largest, avg(score_candidate) as mean, min(score_candidate)::double as smallest
from store.sub_updates as sub_updates
inner join store.models as models on models.model_id = sub_updates.set_id
inner join measured_corpora as corpora
    on corpora.model_id = sub_updates.set_id and corpora.corpus_id = sub_updates.corpus_id and corpora.is_shown
where list_contains($models::varchar[], models.name) and sub_updates.kind = 'dominant'
group by models.name, models.n_parameters, sub_updates.layer, sub_updates.example_id
order by models.n_parameters, sub_updates.layer, sub_updates.example_id
