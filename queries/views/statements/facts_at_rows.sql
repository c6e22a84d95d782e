-- What a table shows about neurons that were found, read at the rows where they lie.
select
    facts.model_id,
    facts.layer,
    facts.neuron,
    facts.corpus_id,
    corpora.name as corpus,
    facts.n_active,
    facts.n_positions,
    facts.activation_min,
    facts.activation_max,
from (
    select set_id as model_id, layer, neuron, corpus_id, n_active, n_positions, activation_min, activation_max,
    from store.neuron_facts
    where rowid in (select unnest($rows::bigint[]))
) as facts
left join store.corpora as corpora on corpora.corpus_id = facts.corpus_id
