-- The neurons of one model that tell most of the position, with their counts over 64 stretches of positions.
select
    positional.address,
    positional.position_kind,
    positional.position_strength,
    positional.mutual_information_corrected,
    positional.n_sequences,
    profiles.first_position,
    corpora.sequence_length - 1 as last_position,
    profiles.counts_64,
from positional_neurons as positional
inner join models on models.model = positional.model
inner join store.models as named on named.name = positional.model
inner join store.corpora as corpora
    on corpora.name = positional.corpus and corpora.tokenizer_id = named.tokenizer_id
inner join store.positions as profiles
    on profiles.model_id = named.model_id
    and profiles.corpus_id = corpora.corpus_id
    and profiles.layer = positional.layer
    and profiles.neuron = positional.neuron
    and profiles.domain = 'all'
where positional.model = $model and positional.position_kind <> 'too few sequences'
order by positional.mutual_information_corrected desc, positional.address
limit $n
