-- How one neuron's frequency depends on the position, over all of a corpus and by domain.
select
    positions.domain, positions.n_sequences, positions.mutual_information, positions.mutual_information_corrected,
    positions.first_position, positions.counts_64, positions.counts,
    coalesce(runs.parameters like '%"activation_rule": "|m|%', false) as counts_strong,
from store.positions as positions
left join store.runs as runs on runs.run_id = positions.run_id
where
    positions.set_id = $model_id
    and positions.corpus_id = $corpus_id
    and positions.layer = $layer
    and positions.neuron = $neuron
