-- How often some tokens occur in a corpus.
select token_id, sum(n_occurrences)::bigint as n_occurrences,
from store.token_counts
where corpus_id = $corpus_id and token_id in (select unnest($token_ids::integer[]))
group by token_id
