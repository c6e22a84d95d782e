-- Where one neuron fires strongest in a corpus, with the ids around: twelve before and six after, as in contexts_by_corpus.
with own as materialized (
    select corpus_id, rank, activation, sequence_id, position,
    from store.contexts
    where model_id = $model_id and corpus_id = $corpus_id and layer = $layer and neuron = $neuron
)
select
    own.rank,
    own.activation::double as activation,
    sequences.domain,
    own.sequence_id,
    own.position,
    sequences.tokens[greatest(own.position - 11, 1):own.position] as ids_before,
    sequences.tokens[own.position + 1] as token_id,
    sequences.tokens[own.position + 2:own.position + 7] as ids_after,
from own
inner join store.sequences as sequences
    on sequences.corpus_id = own.corpus_id and sequences.sequence_id = own.sequence_id
