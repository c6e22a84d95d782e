-- How the layers of some models fire on the corpora chosen for them.
with chosen as (
    select
        unnest($models::varchar[]) as model,
        unnest($corpus_ids::integer[]) as corpus_id,
)
select
    layers.model,
    layers.layer,
    layers.depth,
    layers.n_neurons,
    layers.n_never_active,
    layers.never_active_share,
    layers.n_dead,
    layers.dead_share,
    layers.mean_frequency,
    layers.median_frequency,
    layers.n_tokens_seen,
    layers.corpus,
from layer_activity_by_corpus as layers
inner join chosen on chosen.model = layers.model and chosen.corpus_id = layers.corpus_id
order by layers.model, layers.layer
