-- What leaving a model early costs and saves.
create table store.exits (
    model_id integer not null,
    corpus_id integer not null,
    method varchar not null,
    parameter double not null,
    seed integer not null,
    n bigint not null,
    n_correct bigint not null,
    n_exited bigint not null,
    accuracy double not null,
    layers_run double not null,
    layers_run_sd double,
    layers_saved double not null,
    layers_saved_correct double,
    run_id integer not null
);
comment on table store.exits is 'One row per model, corpus, method, parameter and seed: how often an example that is left early already has the model''s own prediction, and how many layers that saves.';
comment on column store.exits.model_id is 'The model.';
comment on column store.exits.corpus_id is 'The corpus.';
comment on column store.exits.method is 'cluster_ranks, cluster_sets: by the clusters of the dominant sub-updates, compared place by place or as sets; logistic_stream, logistic_ffn, logistic_sum: by a classifier a layer, on the stream before the FFN, the FFN''s output, their sum; mat, id: by the confidence of a shortcut; fixed_mat, fixed_id: at one state whatever it says.';
comment on column store.exits.parameter is 'Clusters asked for; the bound lambda of the confidence; the state; 0 of classifiers, which choose their own.';
comment on column store.exits.seed is 'Seed of the split into examples to learn from and to try, or of the draw of the sentences.';
comment on column store.exits.n is 'Examples tried.';
comment on column store.exits.n_correct is 'Those whose prediction at the exit is the model''s own.';
comment on column store.exits.n_exited is 'Those that were left before the last layer; the others are correct.';
comment on column store.exits.accuracy is 'n_correct / n: for shortcuts, precision@1.';
comment on column store.exits.layers_run is 'Mean number of layers that ran.';
comment on column store.exits.layers_run_sd is 'Its standard deviation over the examples (sample); null for a single one.';
comment on column store.exits.layers_saved is 'Mean number of layers that did not run, n_layers - layers_run.';
comment on column store.exits.layers_saved_correct is 'The same over the correct examples; null where none is.';
comment on column store.exits.run_id is 'The run that measured it.';
