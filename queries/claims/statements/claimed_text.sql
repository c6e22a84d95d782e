-- The text that each model was run on: counted positions, ids of a full sequence, and how many sequences are full.
select
    corpora.model,
    any_value(corpora.n_tokens) as n_tokens,
    any_value(corpora.sequence_length) as sequence_length,
    coalesce(max(neurons.n_position_sequences), 0) as n_full_sequences,
from measured_corpora as corpora
inner join neurons on neurons.model = corpora.model
where list_contains($models::varchar[], corpora.model) and corpora.is_shown
group by corpora.model
