-- How often some tokens occur in each domain of a corpus.
select counts.token_id, counts.n_occurrences,
from (select unnest($token_ids::integer[]) as token_id) as asked
inner join store.token_counts as counts on counts.token_id = asked.token_id
where counts.corpus_id = $corpus_id
