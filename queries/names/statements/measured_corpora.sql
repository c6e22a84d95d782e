-- The corpora that models were measured on, in no order.
select model, corpus, corpus_id, is_shown, n_tokens, sequence_length, activation_rule,
from measured_corpora
where list_contains($models::varchar[], model)
