-- Neurons that were changed, and what that did.
create table store.interventions (
    model_id integer not null,
    corpus_id integer not null,
    intervention varchar not null,
    asked varchar not null,
    kind varchar,
    how varchar not null,
    value double,
    moment varchar not null,
    n_neurons integer not null,
    n_sets smallint not null,
    seed integer not null,
    run_id integer not null
);
comment on table store.interventions is 'One row per model, corpus and intervention: neurons that were changed together, and how.';
comment on column store.interventions.model_id is 'The model.';
comment on column store.interventions.corpus_id is 'The corpus on which the effects were measured.';
comment on column store.interventions.intervention is 'Name of the intervention.';
comment on column store.interventions.asked is 'How the neurons were chosen: a condition, words, or a file.';
comment on column store.interventions.kind is 'The kind of neurons that was turned off; null where the neurons were chosen in another way.';
comment on column store.interventions.how is 'set: to the value; scale: their own values times the value; mean: to each neuron''s mean over the corpus.';
comment on column store.interventions.value is 'What the neurons were set to, or multiplied by; null for mean.';
comment on column store.interventions.moment is 'before or after the non-linearity.';
comment on column store.interventions.n_neurons is 'Neurons that were changed.';
comment on column store.interventions.n_sets is 'Random sets of as many neurons, matched by layer and frequency, that were changed in the same way.';
comment on column store.interventions.seed is 'Seed of the random sets.';
comment on column store.interventions.run_id is 'The run that measured it.';

create table store.intervention_neurons (
    model_id integer not null,
    corpus_id integer not null,
    intervention varchar not null,
    set_number smallint not null,
    layer smallint not null,
    neuron integer not null,
    run_id integer not null
);
comment on table store.intervention_neurons is 'One row per model, corpus, intervention, set and neuron: the neurons that were changed together.';
comment on column store.intervention_neurons.model_id is 'The model.';
comment on column store.intervention_neurons.corpus_id is 'The corpus.';
comment on column store.intervention_neurons.intervention is 'Name of the intervention.';
comment on column store.intervention_neurons.set_number is '0: the neurons that were asked for; from 1: random sets.';
comment on column store.intervention_neurons.layer is 'Layer, from 0.';
comment on column store.intervention_neurons.neuron is 'Neuron within the layer, from 0.';
comment on column store.intervention_neurons.run_id is 'The run that measured it.';

create table store.intervention_effects (
    model_id integer not null,
    corpus_id integer not null,
    intervention varchar not null,
    set_number smallint not null,
    domain varchar not null,
    position_from integer not null,
    n_tokens bigint not null,
    nll double not null,
    nll_untouched double not null,
    kl double not null,
    mass_promoted double not null,
    mass_promoted_untouched double not null,
    mass_suppressed double not null,
    mass_suppressed_untouched double not null,
    run_id integer not null
);
comment on table store.intervention_effects is 'One row per model, corpus, intervention, set, domain and range of positions: what the changed model says of the tokens there, beside the untouched one. All numbers are sums over tokens.';
comment on column store.intervention_effects.model_id is 'The model.';
comment on column store.intervention_effects.corpus_id is 'The corpus.';
comment on column store.intervention_effects.intervention is 'Name of the intervention.';
comment on column store.intervention_effects.set_number is '0: the neurons that were asked for; from 1: random sets.';
comment on column store.intervention_effects.domain is 'Domain of the text.';
comment on column store.intervention_effects.position_from is 'First position of the range: 0, 1, 8, 64 or 512; it ends before the next of these.';
comment on column store.intervention_effects.n_tokens is 'Tokens that were predicted from these positions.';
comment on column store.intervention_effects.nll is 'Negative log-likelihood of these tokens in the changed model, nats.';
comment on column store.intervention_effects.nll_untouched is 'The same in the untouched model.';
comment on column store.intervention_effects.kl is 'Divergence KL(untouched || changed) of the predictions, nats.';
comment on column store.intervention_effects.mass_promoted is 'Probability, in the changed model, of the 50 tokens that the neurons asked for promote most together.';
comment on column store.intervention_effects.mass_promoted_untouched is 'The same in the untouched model.';
comment on column store.intervention_effects.mass_suppressed is 'Probability, in the changed model, of the 50 tokens that the neurons asked for suppress most together.';
comment on column store.intervention_effects.mass_suppressed_untouched is 'The same in the untouched model.';
comment on column store.intervention_effects.run_id is 'The run that measured it.';
