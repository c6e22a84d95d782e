-- The neurons of one model that tell most of the position, with their counts over 64 stretches of positions.
with found as (
    select
        model,
        layer,
        neuron,
        address,
        position_kind,
        position_strength,
        mutual_information_corrected,
        n_sequences,
        corpus,
    from positional_neurons
    where model = $model and position_kind <> 'too few sequences'
    order by mutual_information_corrected desc, address
    limit $n
)
select
    found.address,
    found.position_kind,
    found.position_strength,
    found.mutual_information_corrected,
    found.n_sequences,
    profiles.first_position,
    corpora.sequence_length - 1 as last_position,
    profiles.counts_64,
from found
inner join models on models.model = found.model
inner join store.models as named on named.name = found.model
inner join store.corpora as corpora
    on corpora.name = found.corpus and corpora.tokenizer_id = named.tokenizer_id
inner join store.positions as profiles
    on profiles.model_id = named.model_id
    and profiles.corpus_id = corpora.corpus_id
    and profiles.layer = found.layer
    and profiles.neuron = found.neuron
    and profiles.domain = 'all'
order by found.mutual_information_corrected desc, found.address
