-- How one neuron's frequency depends on the position, over all of a corpus and by domain.
select
    positions.domain,
    positions.n_sequences,
    positions.mutual_information,
    positions.mutual_information_corrected,
    positions.first_position,
    corpora.sequence_length - 1 as last_position,
    positions.counts_64,
    positions.counts,
from store.positions as positions
inner join store.corpora as corpora on corpora.corpus_id = positions.corpus_id
where
    positions.model_id = $model_id
    and positions.layer = $layer
    and positions.neuron = $neuron
    and positions.corpus_id = $corpus_id
order by positions.domain <> 'all', positions.domain
