-- Ids around some positions of a corpus: twelve before and six after, as in contexts_by_corpus.
select
    asked.sequence_id,
    asked.position,
    sequences.domain,
    sequences.tokens[greatest(asked.position - 11, 1):asked.position] as ids_before,
    sequences.tokens[asked.position + 1] as token_id,
    sequences.tokens[asked.position + 2:asked.position + 7] as ids_after,
from (select unnest($sequence_ids::integer[]) as sequence_id, unnest($positions::integer[]) as position) as asked
inner join store.sequences as sequences on sequences.sequence_id = asked.sequence_id
where sequences.corpus_id = $corpus_id
