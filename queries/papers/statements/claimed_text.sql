-- The text that each model was run on, and whether it suffices to label neurons: full sequences, and how often those
-- neurons fired that fired at all.
select
    corpora.model,
    any_value(corpora.n_tokens) as n_tokens,
    any_value(corpora.sequence_length) as sequence_length,
    coalesce(max(neurons.n_position_sequences), 0) as n_full_sequences,
    count(*) filter (neurons.n_active > 0) as n_alive,
    count(*) filter (neurons.n_active >= $min_activations) as n_active_enough,
    coalesce(median(neurons.n_active) filter (neurons.n_active > 0), 0) as median_active,
from measured_corpora as corpora
inner join neurons on neurons.model = corpora.model
where list_contains($models::varchar[], corpora.model) and corpora.is_shown
group by corpora.model
