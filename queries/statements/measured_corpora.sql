-- The corpora each model was measured on, the one that views show (or would show) first.
select model, corpus, corpus_id, n_tokens, activation_rule,
from measured_corpora
where list_contains($models::varchar[], model)
order by model, is_shown desc, n_tokens desc, corpus_id desc
