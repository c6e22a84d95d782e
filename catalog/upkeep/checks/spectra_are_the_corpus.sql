-- The n-grams of a corpus, counted with repetitions, are at most one per token, and exactly one for n = 1.
with counted as (
    select model_id, corpus_id, n, sum(n_occurrences * n_distinct) as n_ngrams
    from store.ngram_spectrum
    group by model_id, corpus_id, n
)
select 'model ' || counted.model_id || ', corpus ' || counted.corpus_id || ', n ' || counted.n as place
from counted
left join store.corpora as corpora on corpora.corpus_id = counted.corpus_id
where
    counted.n_ngrams is distinct from case when counted.n = 1 then corpora.n_tokens else counted.n_ngrams end
    or counted.n_ngrams > corpora.n_tokens
