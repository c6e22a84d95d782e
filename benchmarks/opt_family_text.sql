-- The tokenizer and the text of the made-up family: tokens come as often as Zipf's law says.
insert into store.tokenizers by name
select 0 as tokenizer_id, 'made up' as name, '0' as sha256, $vocabulary as vocab_size, 2 as bos_token_id, 2 as eos_token_id;

insert into store.tokens by name
select
    0 as tokenizer_id, cast(i as integer) as token_id, 'Ġtoken' || i as piece, ' token' || i as text,
    'token' || i as word, i < 4 as is_special,
from range($vocabulary) as ids (i);

insert into store.corpora by name
select
    0 as corpus_id, 'made up' as name, '0' as sha256, '0' as text_sha256, 0 as tokenizer_id, 600000 as n_tokens,
    $sequences as n_sequences, 2048 as sequence_length, '{}' as recipe;

insert into store.sequences by name
select
    0 as corpus_id, cast(i as integer) as sequence_id, ['code', 'prose', 'web'][1 + i * 3 // $sequences] as domain,
    list_transform(range(2048), lambda k: cast(4 + hash(i, k) % ($vocabulary - 4) as integer)) as tokens,
    true as starts_document,
from range($sequences) as ids (i);

insert into store.token_counts by name
select 0 as corpus_id, domain, cast(i as integer) as token_id, cast(1 + 17000 / (i + 1) as bigint) as n_occurrences,
from range($vocabulary) as ids (i), (values ('code'), ('prose'), ('web')) as domains (domain);
