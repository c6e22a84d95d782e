-- Some neurons of one model with their counts over 64 stretches of positions, the most informative about the position first.
with shown as (
    select unnest($layers) as layer, unnest($neurons) as neuron
),
found as (
    select neurons.*
    from positional_neurons as neurons
    inner join shown on shown.layer = neurons.layer and shown.neuron = neurons.neuron
    where neurons.model = $model
)
select
    found.address,
    found.position_kind,
    found.position_strength,
    found.mutual_information_corrected,
    found.n_sequences,
    profiles.first_position,
    text.sequence_length - 1 as last_position,
    profiles.counts_64,
from found
inner join measured_corpora as text on text.model = found.model and text.is_shown
inner join store.positions as profiles
    on profiles.set_id = text.model_id
    and profiles.corpus_id = text.corpus_id
    and profiles.layer = found.layer
    and profiles.neuron = found.neuron
    and profiles.domain = 'all'
order by found.mutual_information_corrected desc, found.address
