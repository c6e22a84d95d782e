-- How one neuron depends on n-grams of each length in a corpus, and which labels the corpus allows for them: null unless
-- views show that corpus.
select
    ngrams.n,
    ngrams.n_active,
    ngrams.n_distinct,
    ngrams.n_covering_95 as coverage,
    allowed.coverage_95 as corpus_coverage,
    allowed.can_be_labelled,
    allowed.frequent_share,
    allowed.min_occurrences,
    coalesce(runs.parameters like '%"activation_rule": "|m|%', false) as counts_strong,
from store.ngrams as ngrams
left join store.runs as runs on runs.run_id = ngrams.run_id
left join corpus_ngrams as allowed
    on allowed.n = ngrams.n and allowed.model_id = $model_id and allowed.corpus_id = $corpus_id
where
    ngrams.set_id = $model_id
    and ngrams.corpus_id = $corpus_id
    and ngrams.layer = $layer
    and ngrams.neuron = $neuron
