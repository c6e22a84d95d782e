-- Linear maps in the place of a block's attention, FFN and norms.
create table store.sub_module_fits (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    sub_module varchar not null,
    r2 double not null,
    condition double,
    rank integer not null,
    n_fit bigint not null,
    n_validation bigint not null,
    run_id integer not null
);
comment on table store.sub_module_fits is 'One row per model, corpus, layer and sub-module: how well a linear map of what it reads predicts what it returns, without the residual, at one position of each sentence.';
comment on column store.sub_module_fits.model_id is 'The model.';
comment on column store.sub_module_fits.corpus_id is 'The corpus.';
comment on column store.sub_module_fits.layer is 'Layer, 0-based.';
comment on column store.sub_module_fits.sub_module is 'attention, ffn, norm_1 (the one of the attention) or norm_2 (the one of the FFN).';
comment on column store.sub_module_fits.r2 is 'Coefficient of determination on the validation sentences: of each coordinate, with its own mean, averaged uniformly; may be far below 0.';
comment on column store.sub_module_fits.condition is 'Largest over smallest singular value of what it reads, of those that count: above 2^-23 of the largest.';
comment on column store.sub_module_fits.rank is 'Singular values that count; below d_model the map is the one of least norm.';
comment on column store.sub_module_fits.n_fit is 'Sentences it was fitted on.';
comment on column store.sub_module_fits.n_validation is 'Sentences it is judged by.';
comment on column store.sub_module_fits.run_id is 'The run that measured it.';
comment on column store.shortcut_readings.method is 'id: the state itself; mat: its least-squares map to the last state; mat_attn, mat_ffn, mat_ln1_ln2: the last state, where linear maps stand for attention, FFN or both norms in every block above the state.';
