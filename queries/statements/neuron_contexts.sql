-- Where one neuron fires strongest in a corpus, with the ids around: twelve before and six after, as in contexts_by_corpus.
select
    contexts.rank,
    contexts.activation::double as activation,
    sequences.domain,
    contexts.sequence_id,
    contexts.position,
    sequences.tokens[greatest(contexts.position - 11, 1):contexts.position] as ids_before,
    sequences.tokens[contexts.position + 1] as token_id,
    sequences.tokens[contexts.position + 2:contexts.position + 7] as ids_after,
from store.contexts as contexts
inner join store.sequences as sequences
    on sequences.corpus_id = contexts.corpus_id and sequences.sequence_id = contexts.sequence_id
where
    contexts.model_id = $model_id
    and contexts.corpus_id = $corpus_id
    and contexts.layer = $layer
    and contexts.neuron = $neuron
order by contexts.rank
