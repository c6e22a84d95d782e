-- The layers of one model as they fire on one of the corpora that it was measured on.
select
    layer,
    depth,
    n_neurons,
    n_tokens_seen,
    n_dead,
    dead_share,
    mean_frequency,
    median_frequency,
    corpus,
from layer_activity_by_corpus
where model = $model and corpus_id = $corpus_id
order by layer
