-- A context is a position in a sequence of its corpus; a neuron has at most one per sequence, the strongest first.
with ordered as (
    select
        set_id as model_id, corpus_id, layer, neuron, rank, activation, sequence_id, position,
        row_number() over (
            partition by set_id, corpus_id, layer, neuron
            order by abs(activation) desc, sequence_id, position
        ) as place_by_strength,
        count(*) over (partition by set_id, corpus_id, layer, neuron, sequence_id) as n_of_sequence
    from store.contexts
)
select
    'model ' || ordered.model_id || ', layer ' || ordered.layer || ', neuron ' || ordered.neuron
    || ', rank ' || ordered.rank as place
from ordered
left join store.sequences as sequences
    on sequences.corpus_id = ordered.corpus_id and sequences.sequence_id = ordered.sequence_id
where
    sequences.sequence_id is null
    or ordered.position not between 0 and array_length(sequences.tokens) - 1
    or ordered.place_by_strength <> ordered.rank
    or ordered.n_of_sequence <> 1
    or ordered.activation = 0
