-- Linear shortcuts between states, the matrices that are kept, and what the model says of states that stand in for others.
create table store.shortcut_sentences (
    model_id integer not null,
    corpus_id integer not null,
    sentence_id integer not null,
    domain varchar not null,
    is_validation boolean not null,
    tokens integer[] not null,
    position integer not null,
    own_position integer not null,
    text varchar not null,
    run_id integer not null
);
comment on table store.shortcut_sentences is 'One row per model, corpus and sentence whose states linear shortcuts were fitted on or judged by: what the model read, and the position that is looked at.';
comment on column store.shortcut_sentences.model_id is 'The model.';
comment on column store.shortcut_sentences.corpus_id is 'The corpus.';
comment on column store.shortcut_sentences.sentence_id is 'The sentence, 0-based, in a seeded random order; the first three of four are to fit on.';
comment on column store.shortcut_sentences.domain is 'Its domain.';
comment on column store.shortcut_sentences.is_validation is 'Whether it is one to validate on.';
comment on column store.shortcut_sentences.tokens is 'The ids that the model read, a prepended BOS included; a causal model reads up to the position.';
comment on column store.shortcut_sentences.position is 'The position looked at, 0-based, among these ids.';
comment on column store.shortcut_sentences.own_position is 'The same among the sentence''s own ids.';
comment on column store.shortcut_sentences.text is 'Text of these ids without the special ones.';
comment on column store.shortcut_sentences.run_id is 'The run that measured it.';

create table store.shortcuts (
    model_id integer not null,
    corpus_id integer not null,
    method varchar not null,
    source_state smallint not null,
    target_state smallint not null,
    r2 double not null,
    condition double,
    rank integer,
    n_fit bigint not null,
    n_validation bigint not null,
    run_id integer not null
);
comment on table store.shortcuts is 'One row per model, corpus, method, source state and target state: how well the source predicts the target at one position of each sentence.';
comment on column store.shortcuts.model_id is 'The model.';
comment on column store.shortcuts.corpus_id is 'The corpus.';
comment on column store.shortcuts.method is 'id: the source itself; mat: the least-squares map of the source, without an intercept.';
comment on column store.shortcuts.source_state is 'State s: 0 the embeddings, s what leaves block s - 1, before the final norm.';
comment on column store.shortcuts.target_state is 'State above the source.';
comment on column store.shortcuts.r2 is 'Coefficient of determination on the validation sentences: of each coordinate, with its own mean, averaged uniformly; may be far below 0.';
comment on column store.shortcuts.condition is 'Largest over smallest singular value of the source states that were fitted on, of those that count; null for id.';
comment on column store.shortcuts.rank is 'Singular values that count: above 2^-23 of the largest; below d_model the map is the one of least norm; null for id.';
comment on column store.shortcuts.n_fit is 'Sentences it was fitted on.';
comment on column store.shortcuts.n_validation is 'Sentences it is judged by.';
comment on column store.shortcuts.run_id is 'The run that measured it.';

create table store.shortcut_maps (
    model_id integer not null,
    corpus_id integer not null,
    source_state smallint not null,
    target_state smallint not null,
    sha256 varchar not null,
    n_bytes bigint not null,
    run_id integer not null
);
comment on table store.shortcut_maps is 'One row per model, corpus, source state and target state whose matrix is kept beside the warehouse: in WAREHOUSE.shortcuts/RUN_KEY/SOURCE-TARGET.safetensors.';
comment on column store.shortcut_maps.model_id is 'The model.';
comment on column store.shortcut_maps.corpus_id is 'The corpus.';
comment on column store.shortcut_maps.source_state is 'State that the matrix is applied to, h -> A h.';
comment on column store.shortcut_maps.target_state is 'State that A h stands for.';
comment on column store.shortcut_maps.sha256 is 'Fingerprint of the safetensors file.';
comment on column store.shortcut_maps.n_bytes is 'Size of the file.';
comment on column store.shortcut_maps.run_id is 'The run that measured it.';

create table store.shortcut_readings (
    model_id integer not null,
    corpus_id integer not null,
    sentence_id integer not null,
    method varchar not null,
    state smallint not null,
    top_token integer not null,
    top_probability double not null,
    second_probability double not null,
    rank_in_model integer not null,
    surprisal double not null,
    run_id integer not null
);
comment on table store.shortcut_readings is 'One row per model, corpus, validation sentence, method and state: what the model''s head says of the state''s substitute for the last one.';
comment on column store.shortcut_readings.model_id is 'The model.';
comment on column store.shortcut_readings.corpus_id is 'The corpus.';
comment on column store.shortcut_readings.sentence_id is 'The sentence.';
comment on column store.shortcut_readings.method is 'id: the state itself; mat: its least-squares map to the last state.';
comment on column store.shortcut_readings.state is 'The state that the shortcut starts from; from the last one every method is the model itself.';
comment on column store.shortcut_readings.top_token is 'Token with the largest logit, ties to the lowest id.';
comment on column store.shortcut_readings.top_probability is 'Its probability.';
comment on column store.shortcut_readings.second_probability is 'The second largest probability.';
comment on column store.shortcut_readings.rank_in_model is '1 + the tokens to which the whole model gives a strictly larger logit than to this one.';
comment on column store.shortcut_readings.surprisal is 'Minus the logarithm of the probability that the whole model gives it, nats.';
comment on column store.shortcut_readings.run_id is 'The run that measured it.';

create table store.shortcut_tops (
    model_id integer not null,
    corpus_id integer not null,
    sentence_id integer not null,
    method varchar not null,
    state smallint not null,
    rank smallint not null,
    token_id integer not null,
    probability double not null,
    run_id integer not null
);
comment on table store.shortcut_tops is 'One row per model, corpus, sentence, method, state and rank, for the first 50 validation sentences and the methods id and mat: the tokens put first.';
comment on column store.shortcut_tops.model_id is 'The model.';
comment on column store.shortcut_tops.corpus_id is 'The corpus.';
comment on column store.shortcut_tops.sentence_id is 'The sentence.';
comment on column store.shortcut_tops.method is 'id or mat.';
comment on column store.shortcut_tops.state is 'The state that the shortcut starts from.';
comment on column store.shortcut_tops.rank is '1 to 5, ties by id.';
comment on column store.shortcut_tops.token_id is 'The token.';
comment on column store.shortcut_tops.probability is 'Its probability.';
comment on column store.shortcut_tops.run_id is 'The run that measured it.';

create table store.shortcut_predictions (
    model_id integer not null,
    corpus_id integer not null,
    method varchar not null,
    state smallint not null,
    n bigint not null,
    precision_1 double not null,
    precision_1_low double not null,
    precision_1_high double not null,
    precision_5 double not null,
    precision_5_low double not null,
    precision_5_high double not null,
    precision_10 double not null,
    precision_10_low double not null,
    precision_10_high double not null,
    surprisal double not null,
    surprisal_low double not null,
    surprisal_high double not null,
    run_id integer not null
);
comment on table store.shortcut_predictions is 'One row per model, corpus, method and state: how often a shortcut from the state says what the model says.';
comment on column store.shortcut_predictions.model_id is 'The model.';
comment on column store.shortcut_predictions.corpus_id is 'The corpus.';
comment on column store.shortcut_predictions.method is 'As in shortcut_readings.';
comment on column store.shortcut_predictions.state is 'The state that the shortcut starts from.';
comment on column store.shortcut_predictions.n is 'Validation sentences.';
comment on column store.shortcut_predictions.precision_1 is 'Share of sentences whose top token is the model''s top token.';
comment on column store.shortcut_predictions.precision_1_low is 'Lower end of its Wilson 95% interval.';
comment on column store.shortcut_predictions.precision_1_high is 'Upper end.';
comment on column store.shortcut_predictions.precision_5 is 'Share of sentences whose top token is among the model''s 5 first.';
comment on column store.shortcut_predictions.precision_5_low is 'Lower end of its Wilson 95% interval.';
comment on column store.shortcut_predictions.precision_5_high is 'Upper end.';
comment on column store.shortcut_predictions.precision_10 is 'Share of sentences whose top token is among the model''s 10 first.';
comment on column store.shortcut_predictions.precision_10_low is 'Lower end of its Wilson 95% interval.';
comment on column store.shortcut_predictions.precision_10_high is 'Upper end.';
comment on column store.shortcut_predictions.surprisal is 'Mean surprisal of the top token under the model, nats.';
comment on column store.shortcut_predictions.surprisal_low is 'Mean - 1.96 sd / sqrt(n).';
comment on column store.shortcut_predictions.surprisal_high is 'Mean + 1.96 sd / sqrt(n).';
comment on column store.shortcut_predictions.run_id is 'The run that measured it.';
