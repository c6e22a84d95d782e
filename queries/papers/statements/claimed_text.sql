-- The text that each model was run on, and whether it suffices to label neurons: full sequences, and how often those
-- neurons were active that were active at all, as n-grams count it where they were.
with active as (
    select models.name as model, coalesce(facts.unigram_active, facts.n_active) as n_active, facts.n_position_sequences
    from store.neuron_facts as facts
    inner join store.models as models on models.model_id = facts.set_id
    where list_contains($models::varchar[], models.name)
)
select
    corpora.model,
    any_value(corpora.n_tokens) as n_tokens,
    any_value(corpora.sequence_length) as sequence_length,
    coalesce(max(active.n_position_sequences), 0) as n_full_sequences,
    count(*) filter (active.n_active > 0) as n_alive,
    count(*) filter (active.n_active >= $min_activations) as n_active_enough,
    coalesce(median(active.n_active) filter (active.n_active > 0), 0) as median_active,
from measured_corpora as corpora
inner join active on active.model = corpora.model
where corpora.is_shown
group by corpora.model
