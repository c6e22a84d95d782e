-- How some corpora were made.
select corpus_id, name, sequence_length, recipe,
from store.corpora
where list_contains($corpus_ids::integer[], corpus_id)
