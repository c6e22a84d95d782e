-- Which rows of an unembedding were hardly trained, and which tokens are bytes and no text.
create table store.token_indicators (
    model_id integer not null,
    token_id integer not null,
    row_norm double not null,
    unused_distance double,
    unused_limit double,
    is_unused boolean not null,
    is_byte boolean not null,
    run_id integer not null
);
comment on table store.token_indicators is 'One row per model and token: how near its row of the unembedding is to the rows that no text trains. Runs of the job projections by releases before this table have no rows.';
comment on column store.token_indicators.model_id is 'The model.';
comment on column store.token_indicators.token_id is 'The token.';
comment on column store.token_indicators.row_norm is 'L2 norm of its row of the unembedding.';
comment on column store.token_indicators.unused_distance is 'Cosine distance of its row from the mean of the rows that are known to be unused, of one of these from the mean of the others; null where fewer than three are known, or its row is zero.';
comment on column store.token_indicators.unused_limit is 'Twice the largest distance of an unused row from the mean of the others, but at most half the median distance of all tokens; null where fewer than three are known. The same for all tokens of a model.';
comment on column store.token_indicators.is_unused is 'Whether it is one of the tokens known to be unused: bytes that UTF-8 has no use for, or pieces called unused.';
comment on column store.token_indicators.is_byte is 'Whether it stands for bytes that are no whole characters, or for one byte that a tokenizer falls back on.';
comment on column store.token_indicators.run_id is 'The run that measured it.';
