-- What a corpus allows n-grams of each length to be called; no rows unless it is the one that views tell of.
select n, coverage_95 as corpus_coverage, can_be_labelled, frequent_share, min_occurrences,
from corpus_ngrams
where model_id = $model_id and corpus_id = $corpus_id
