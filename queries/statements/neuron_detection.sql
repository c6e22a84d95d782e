-- How one neuron depends on n-grams of each length; what the corpus itself allows is null unless it is the shown one.
with detected as (
    select
        n,
        count(*) as n_detected,
        bool_and(is_strict) as is_strict,
    from detected_ngrams
    where model_id = $model_id and layer = $layer and neuron = $neuron
    group by n
)
select
    ngrams.n,
    ngrams.n_active,
    ngrams.n_distinct,
    ngrams.n_covering_95 as coverage,
    corpus_ngrams.coverage_95 as corpus_coverage,
    corpus_ngrams.can_be_labelled,
    corpus_ngrams.frequent_share,
    corpus_ngrams.min_occurrences,
    coalesce(detected.n_detected, 0) as n_detected,
    detected.is_strict,
from store.ngrams as ngrams
left join corpus_ngrams
    on corpus_ngrams.model_id = ngrams.model_id
    and corpus_ngrams.corpus_id = ngrams.corpus_id
    and corpus_ngrams.n = ngrams.n
left join detected on detected.n = ngrams.n and corpus_ngrams.n is not null
where
    ngrams.model_id = $model_id
    and ngrams.layer = $layer
    and ngrams.neuron = $neuron
    and ngrams.corpus_id = $corpus_id
