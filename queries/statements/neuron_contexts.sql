-- Where one neuron fires strongest in a corpus.
select rank, activation, domain, before, token, after, sequence_id, position,
from contexts_by_corpus
where model = $model and layer = $layer and neuron = $neuron and corpus_id = $corpus_id
order by rank
