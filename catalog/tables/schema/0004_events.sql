-- Examples cut from sentences, what the model's streams and sub-updates say at their ends, and the events found there.
create table store.examples (
    model_id integer not null,
    corpus_id integer not null,
    example_id integer not null,
    domain varchar not null,
    tokens integer[] not null,
    n_prefix_tokens integer not null,
    final_token integer not null,
    final_probability double not null,
    target_token integer,
    target_probability double,
    saturation_layer smallint not null,
    saturation_by_ffn boolean not null,
    elimination_layer smallint,
    in_event_sample boolean not null,
    run_id integer not null
);
comment on table store.examples is 'One row per model, corpus and example: a sentence cut after a random number of its ids, and what the model predicts there.';
comment on column store.examples.model_id is 'The model.';
comment on column store.examples.corpus_id is 'The corpus whose sentences they are.';
comment on column store.examples.example_id is 'The example, 0-based, in a seeded random order of the sentences.';
comment on column store.examples.domain is 'Domain of its sentence.';
comment on column store.examples.tokens is 'Its ids, BOS included; the last position is analysed.';
comment on column store.examples.n_prefix_tokens is 'How many ids of the sentence it has, without a BOS.';
comment on column store.examples.final_token is 'The token the model predicts: argmax after the last layer.';
comment on column store.examples.final_probability is 'Its probability.';
comment on column store.examples.target_token is 'The next id of the sentence; null where the example is a whole sentence of one id.';
comment on column store.examples.target_probability is 'The probability the model gives it.';
comment on column store.examples.saturation_layer is 'First layer from which on every stream after the FFN has the final token at the top.';
comment on column store.examples.saturation_by_ffn is 'The saturation layer is not the last, and before its FFN another token was at the top.';
comment on column store.examples.elimination_layer is 'The layer whose FFN pushes the token at the top down furthest; null where none is pushed down.';
comment on column store.examples.in_event_sample is 'Among the first 2,000 examples, whose events and random sub-updates are kept.';
comment on column store.examples.run_id is 'The run that measured it.';

create table store.streams (
    model_id integer not null,
    corpus_id integer not null,
    example_id integer not null,
    layer smallint not null,
    moment varchar not null,
    top_token integer not null,
    top_probability double not null,
    final_token_rank integer not null,
    candidate_rank integer,
    norm double not null,
    contribution_sum double,
    dominant_share double,
    leading_share double,
    effective_neurons double,
    run_id integer not null
);
comment on table store.streams is 'One row per model, corpus, example, layer and moment: the residual stream at the last position, read through the final norm and the unembedding.';
comment on column store.streams.model_id is 'The model.';
comment on column store.streams.corpus_id is 'The corpus.';
comment on column store.streams.example_id is 'The example.';
comment on column store.streams.layer is 'Layer, 0-based.';
comment on column store.streams.moment is 'pre: after attention, before the FFN; post: after the block, of the last one before the final norm.';
comment on column store.streams.top_token is 'Token of the largest logit, ties to the lowest id.';
comment on column store.streams.top_probability is 'Its probability.';
comment on column store.streams.final_token_rank is 'Rank of the final token: 1 + the tokens with a larger logit.';
comment on column store.streams.candidate_rank is 'Rank after the FFN of the token that was at the top before it; null before the FFN.';
comment on column store.streams.norm is 'L2 norm of the stream.';
comment on column store.streams.contribution_sum is 'Sum over the neurons of |coefficient| x value norm; null before the FFN, like what follows.';
comment on column store.streams.dominant_share is 'Share of that sum that the ten dominant neurons hold; null too where the sum is 0.';
comment on column store.streams.leading_share is 'Share that the largest 0.24% of the neurons hold, at least one (10 of 4,096).';
comment on column store.streams.effective_neurons is 'Square of the sum of contributions over the sum of their squares.';
comment on column store.streams.run_id is 'The run that measured it.';

create table store.sub_updates (
    model_id integer not null,
    corpus_id integer not null,
    example_id integer not null,
    layer smallint not null,
    kind varchar not null,
    rank smallint not null,
    neuron integer not null,
    coefficient float not null,
    contribution float not null,
    share double,
    score_candidate float not null,
    score_final float not null,
    score_logit_candidate float not null,
    score_logit_final float not null,
    run_id integer not null
);
comment on table store.sub_updates is 'One row per model, corpus, example, layer, kind and rank: what single neurons add to the stream at the last position; random kinds only for the event sample.';
comment on column store.sub_updates.model_id is 'The model.';
comment on column store.sub_updates.corpus_id is 'The corpus.';
comment on column store.sub_updates.example_id is 'The example.';
comment on column store.sub_updates.layer is 'Layer, 0-based.';
comment on column store.sub_updates.kind is 'dominant: the ten largest contributions; random: ten others of the layer; random_active: ten others whose coefficient is not 0.';
comment on column store.sub_updates.rank is 'Place within its kind, from 1: by contribution, ties by neuron; random ones as they were drawn.';
comment on column store.sub_updates.neuron is 'Neuron within the layer, 0-based.';
comment on column store.sub_updates.coefficient is 'Its activation m after the non-linearity.';
comment on column store.sub_updates.contribution is '|m| x L2 norm of its value vector v.';
comment on column store.sub_updates.share is 'contribution over the sum of the layer; null where no neuron is active.';
comment on column store.sub_updates.score_candidate is 'm (e . v) for the embedding e of the token at the top before the FFN.';
comment on column store.sub_updates.score_final is 'm (e . v) for the embedding e of the final token.';
comment on column store.sub_updates.score_logit_candidate is 'The same of v through the final norm as a part of the stream before the FFN: m e . (gamma (v - mean v)) / sd(stream); score_candidate where there is no final norm.';
comment on column store.sub_updates.score_logit_final is 'Likewise for the final token.';
comment on column store.sub_updates.run_id is 'The run that measured it.';

create table store.events (
    model_id integer not null,
    corpus_id integer not null,
    example_id integer not null,
    kind varchar not null,
    layer smallint not null,
    token_id integer not null,
    rank_before integer not null,
    rank_after integer not null,
    by_ffn boolean not null,
    run_id integer not null
);
comment on table store.events is 'One row per model, corpus, example of the event sample and kind: where its final token came to stay at the top, and where its candidate was pushed down furthest.';
comment on column store.events.model_id is 'The model.';
comment on column store.events.corpus_id is 'The corpus.';
comment on column store.events.example_id is 'The example.';
comment on column store.events.kind is 'saturation or elimination.';
comment on column store.events.layer is 'Layer, 0-based.';
comment on column store.events.token_id is 'The final token, or the eliminated one.';
comment on column store.events.rank_before is 'Its rank before the FFN of the layer.';
comment on column store.events.rank_after is 'Its rank after the block.';
comment on column store.events.by_ffn is 'An elimination, or a saturation before the last layer whose token the FFN brought to the top.';
comment on column store.events.run_id is 'The run that measured it.';

create table store.event_samples (
    model_id integer not null,
    corpus_id integer not null,
    seed integer not null,
    n_sentences bigint not null,
    n_examples bigint not null,
    n_event_examples bigint not null,
    extreme_score double not null,
    run_id integer not null
);
comment on table store.event_samples is 'One row per model and corpus: how its examples were drawn, and when a sub-update counts as extreme.';
comment on column store.event_samples.model_id is 'The model.';
comment on column store.event_samples.corpus_id is 'The corpus.';
comment on column store.event_samples.seed is 'Seed of everything that was drawn.';
comment on column store.event_samples.n_sentences is 'Sentences of the corpus that have an id.';
comment on column store.event_samples.n_examples is 'Examples among them.';
comment on column store.event_samples.n_event_examples is 'Examples in the event sample.';
comment on column store.event_samples.extreme_score is '99.9th percentile of |score_candidate| over the dominant sub-updates of all examples.';
comment on column store.event_samples.run_id is 'The run that measured it.';

alter table store.neuron_facts add column times_dominant bigint;
alter table store.neuron_facts add column times_saturating bigint;
comment on column store.neuron_facts.times_dominant is 'Examples of the shown corpus in which it was active and among the ten dominant neurons of its layer; null before events were measured.';
comment on column store.neuron_facts.times_saturating is 'Examples whose saturation its layer''s FFN brought about while it was dominant and raised the final token.';
