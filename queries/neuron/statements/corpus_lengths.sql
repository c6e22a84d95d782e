-- Which labels a corpus allows for n-grams of each length; no rows unless views show that corpus.
select n, coverage_95 as corpus_coverage, can_be_labelled, frequent_share, min_occurrences,
from corpus_ngrams
where model_id = $model_id and corpus_id = $corpus_id
