-- A vocabulary alone does not say which ids a text becomes: each run names the tokenizer whose ids it read.
alter table store.runs add column tokenizer_identity varchar;
comment on column store.runs.tokenizer_identity is 'Everything of the tokenizer that changes which ids a text becomes, as JSON: a hash of each part. Null where an earlier release measured and nobody tokenized the text again since, and for jobs about two models.';
comment on table store.tokenizers is 'One row per vocabulary with its special ids; models with the same one share its tokens. How a text is split into them stands at each run (tokenizer_identity).';
