-- For each example of the event sample and layer, the shares of the layer's update that the ten dominant and ten random
-- neurons hold.
select
    models.name as model,
    sub_updates.example_id,
    avg(case when sub_updates.kind = 'dominant' then sub_updates.share end) * 10 as dominant,
    avg(case when sub_updates.kind = 'random' then sub_updates.share end) * 10 as random,
from store.sub_updates as sub_updates
inner join store.models as models on models.model_id = sub_updates.set_id
inner join measured_corpora as corpora
    on corpora.model_id = sub_updates.set_id and corpora.corpus_id = sub_updates.corpus_id and corpora.is_shown
where list_contains($models::varchar[], models.name)
group by models.name, models.n_parameters, sub_updates.example_id
having dominant is not null and random is not null
order by models.n_parameters, sub_updates.example_id
