-- A window lies in its sequence and is as wide as that lets it be, its integers are what its bits and its largest |m| say, and the strongest are around the strongest contexts.
with ordered as (
    select
        set_id as model_id, corpus_id, layer, neuron, band, rank, sequence_id, position, n_before, n_after, nonzero, largest,
        activations,
        row_number() over (
            partition by set_id, corpus_id, layer, neuron, band order by rank
        ) as number,
        row_number() over (
            partition by set_id, corpus_id, layer, neuron, band order by largest desc, sequence_id
        ) as place_by_strength
    from store.context_windows
)
select
    'model ' || ordered.model_id || ', layer ' || ordered.layer || ', neuron ' || ordered.neuron
    || ', ' || ordered.band || ' ' || ordered.rank as place
from ordered
left join store.sequences as sequences
    on sequences.corpus_id = ordered.corpus_id and sequences.sequence_id = ordered.sequence_id
left join store.corpora as corpora on corpora.corpus_id = ordered.corpus_id
left join store.tokenizers as tokenizers on tokenizers.tokenizer_id = corpora.tokenizer_id
left join store.contexts as contexts
    on
        contexts.set_id = ordered.model_id
        and contexts.corpus_id = ordered.corpus_id
        and contexts.layer = ordered.layer
        and contexts.neuron = ordered.neuron
        and contexts.rank = ordered.rank
where
    ordered.band not in ('strongest', 'quantile', 'random')
    or sequences.sequence_id is null
    or ordered.n_before <> least(40, ordered.position - case when tokenizers.bos_token_id is null then 0 else 1 end)
    or ordered.n_after <> least(22, array_length(sequences.tokens) - 1 - ordered.position)
    or ordered.n_before < 0
    or ordered.n_after < 0
    or ordered.nonzero < 0
    or ordered.nonzero >> (ordered.n_before + ordered.n_after + 1)::integer <> 0
    or bit_count(ordered.nonzero) <> len(ordered.activations)
    or ordered.largest < 0
    or (ordered.largest = 0) <> (ordered.nonzero = 0)
    or (ordered.largest > 0 and greatest(list_max(ordered.activations), -list_min(ordered.activations)) <> 127)
    or ordered.number <> ordered.rank
    or (ordered.band <> 'random' and ordered.place_by_strength <> ordered.rank)
    or (
        ordered.band = 'strongest'
        and (contexts.sequence_id, contexts.position, abs(contexts.activation))
        is distinct from (ordered.sequence_id, ordered.position, ordered.largest)
    )
