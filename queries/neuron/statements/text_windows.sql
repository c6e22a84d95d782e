-- Ids around some positions of a corpus, at most as many before and after each as are asked for.
select
    asked.sequence_id,
    asked.position,
    asked.n_before,
    asked.n_after,
    sequences.domain,
    sequences.tokens[greatest(asked.position - asked.n_before + 1, 1):asked.position] as ids_before,
    sequences.tokens[asked.position + 1] as token_id,
    sequences.tokens[asked.position + 2:asked.position + 1 + asked.n_after] as ids_after,
from (
    select
        unnest($sequence_ids::integer[]) as sequence_id,
        unnest($positions::integer[]) as position,
        unnest($n_before::integer[]) as n_before,
        unnest($n_after::integer[]) as n_after,
) as asked
inner join store.sequences as sequences on sequences.sequence_id = asked.sequence_id
where sequences.corpus_id = $corpus_id
