-- How one neuron depends on n-grams of each length in a corpus.
select n, n_active, n_distinct, n_covering_95 as coverage,
from store.ngrams
where model_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
