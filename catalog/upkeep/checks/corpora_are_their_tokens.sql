-- A corpus has as many tokens and sequences as its row says, and every token belongs to its tokenizer.
with counted as (
    select corpus_id, sum(n_occurrences) as n_tokens from store.token_counts group by corpus_id
),
sequences as (
    select corpus_id, count(*) as n_sequences, max(array_length(tokens)) as longest, min(sequence_id) as first_id,
        max(sequence_id) as last_id
    from store.sequences
    group by corpus_id
)
select 'corpus ' || corpora.corpus_id || ', ' || corpora.name as place
from store.corpora as corpora
left join counted on counted.corpus_id = corpora.corpus_id
left join sequences on sequences.corpus_id = corpora.corpus_id
where
    counted.n_tokens is distinct from corpora.n_tokens
    or sequences.n_sequences is distinct from corpora.n_sequences
    or sequences.longest > corpora.sequence_length
    or sequences.first_id <> 0
    or sequences.last_id <> corpora.n_sequences - 1
union all
select 'corpus ' || counts.corpus_id || ', token ' || counts.token_id as place
from store.token_counts as counts
inner join store.corpora as corpora on corpora.corpus_id = counts.corpus_id
left join store.tokens as tokens
    on tokens.tokenizer_id = corpora.tokenizer_id and tokens.token_id = counts.token_id
where tokens.token_id is null or counts.n_occurrences < 1
