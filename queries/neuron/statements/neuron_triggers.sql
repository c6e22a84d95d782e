-- The n-grams that one neuron is active on most often, on one corpus, as ids.
select n, rank, token_ids, n_active, n_occurrences, score, z_score, rank_from_bottom,
from store.triggers
where set_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
