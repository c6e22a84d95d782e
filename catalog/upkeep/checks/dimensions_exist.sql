-- Models and corpora have their tokenizer, pins have their model and corpus, and no name or hash occurs twice.
select 'model ' || name as place from store.models
where tokenizer_id not in (select tokenizer_id from store.tokenizers)
union all
select 'corpus ' || name as place from store.corpora
where tokenizer_id not in (select tokenizer_id from store.tokenizers)
union all
select 'a pin of model ' || model_id as place from store.pins
where
    model_id not in (select model_id from store.models)
    or corpus_id not in (select corpus_id from store.corpora)
union all
select 'run ' || run_id as place from store.runs
where
    model_id not in (select model_id from store.models)
    or (corpus_id is not null and corpus_id not in (select corpus_id from store.corpora))
    or (other_model_id is not null and other_model_id not in (select model_id from store.models))
union all
select 'tokenizer ' || tokenizers.tokenizer_id as place
from store.tokenizers as tokenizers
left join (
    select tokenizer_id, count(*) as n_tokens from store.tokens group by tokenizer_id
) as counted on counted.tokenizer_id = tokenizers.tokenizer_id
where counted.n_tokens is distinct from tokenizers.vocab_size
union all
select 'model id ' || model_id as place from store.models group by model_id having count(*) > 1
union all
select 'corpus id ' || corpus_id as place from store.corpora group by corpus_id having count(*) > 1
union all
select 'tokenizer id ' || tokenizer_id as place from store.tokenizers group by tokenizer_id having count(*) > 1
union all
select 'run id ' || run_id as place from store.runs group by run_id having count(*) > 1
