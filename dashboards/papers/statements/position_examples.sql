-- Of each kind and strength of positional neurons the one that tells most about the position, with its counts.
with ranked as (
    select
        positional_neurons.*,
        row_number() over (
            partition by positional_neurons.position_kind, positional_neurons.position_strength
            order by
                positional_neurons.mutual_information_corrected desc,
                list_position($models::varchar[], positional_neurons.model),
                positional_neurons.layer,
                positional_neurons.neuron
        ) as place,
        count(*) over (
            partition by positional_neurons.position_kind, positional_neurons.position_strength
        ) as n_alike,
    from positional_neurons
    where
        list_contains($models::varchar[], positional_neurons.model)
        and positional_neurons.position_kind <> 'too few sequences'
)
select
    ranked.model,
    ranked.address,
    ranked.position_kind,
    ranked.position_strength,
    ranked.mutual_information_corrected,
    ranked.n_alike,
    ranked.n_sequences,
    positions.first_position,
    positions.first_position + len(positions.counts) - 1 as last_position,
    positions.counts,
    ranked.corpus,
from ranked
inner join measured_corpora as shown on shown.model = ranked.model and shown.is_shown
inner join store.positions as positions
    on positions.set_id = shown.model_id
    and positions.corpus_id = shown.corpus_id
    and positions.layer = ranked.layer
    and positions.neuron = ranked.neuron
    and positions.domain = 'all'
where ranked.place = 1
order by ranked.position_kind, ranked.position_strength
