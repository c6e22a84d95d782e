-- What changed models write, what scores it, and what single neurons are worth.
alter table store.interventions add column watched varchar;
comment on column store.interventions.watched is 'Tokens whose probability was asked for, a JSON list of their exact texts; null for none.';
alter table store.interventions add column positions varchar;
comment on column store.interventions.positions is 'Positions of every sequence at which the neurons were changed, such as 0-7; null for all.';
alter table store.intervention_effects add column window_weight double;
alter table store.intervention_effects add column nll_windows double;
alter table store.intervention_effects add column nll_windows_untouched double;
alter table store.intervention_effects add column mass_watched double;
alter table store.intervention_effects add column mass_watched_untouched double;
comment on column store.intervention_effects.window_weight is 'The tokens, each counted n/(n - 1) times, n the ids of its sequence; null where version 1 of the job measured it.';
comment on column store.intervention_effects.nll_windows is 'nll with every token counted n/(n - 1) times, from which Geva et al. compute perplexity; null likewise.';
comment on column store.intervention_effects.nll_windows_untouched is 'The same in the untouched model; null likewise.';
comment on column store.intervention_effects.mass_watched is 'Probability, in the changed model, of the tokens that were asked for; null where none were.';
comment on column store.intervention_effects.mass_watched_untouched is 'The same in the untouched model; null likewise.';

create table store.continuations (
    model_id integer not null,
    corpus_id integer not null,
    intervention varchar not null,
    method varchar not null,
    set_number smallint not null,
    prompt_number integer not null,
    prompt varchar not null,
    continuation varchar not null,
    n_tokens integer not null,
    run_id integer not null
);
comment on table store.continuations is 'One row per model, corpus, intervention, method, set and prompt: how the model goes on.';
comment on column store.continuations.model_id is 'The model.';
comment on column store.continuations.corpus_id is 'The corpus by whose frequencies the random sets were drawn.';
comment on column store.continuations.intervention is 'Name of the intervention.';
comment on column store.continuations.method is 'untouched, changed (the neurons asked for), random (a random set), word_filter or self_debiasing.';
comment on column store.continuations.set_number is 'From 1: the random set, as in store.intervention_neurons; 0 for other methods.';
comment on column store.continuations.prompt_number is 'Number of the prompt, from 1.';
comment on column store.continuations.prompt is 'The prompt.';
comment on column store.continuations.continuation is 'What the model wrote after it.';
comment on column store.continuations.n_tokens is 'Tokens of the continuation.';
comment on column store.continuations.run_id is 'The run that wrote it.';

create table store.attribute_scores (
    model_id integer not null,
    corpus_id integer not null,
    intervention varchar not null,
    method varchar not null,
    set_number smallint not null,
    prompt_number integer not null,
    scorer varchar not null,
    attribute varchar not null,
    score double not null,
    run_id integer not null
);
comment on table store.attribute_scores is 'One row per continuation and attribute: how much of it a scorer finds.';
comment on column store.attribute_scores.model_id is 'The model.';
comment on column store.attribute_scores.corpus_id is 'The corpus, as in store.continuations.';
comment on column store.attribute_scores.intervention is 'Name of the intervention.';
comment on column store.attribute_scores.method is 'How the continuation came about, as in store.continuations.';
comment on column store.attribute_scores.set_number is 'From 1: the random set; 0 for other methods.';
comment on column store.attribute_scores.prompt_number is 'Number of the prompt, from 1.';
comment on column store.attribute_scores.scorer is 'What scored it, as it was asked for.';
comment on column store.attribute_scores.attribute is 'The attribute.';
comment on column store.attribute_scores.score is 'From 0 to 1; a continuation has the attribute from 0.5.';
comment on column store.attribute_scores.run_id is 'The run that scored it.';

create table store.neuron_effects (
    model_id integer not null,
    corpus_id integer not null,
    layer smallint not null,
    neuron integer not null,
    is_control boolean not null,
    n_tokens bigint not null,
    nll double not null,
    nll_untouched double not null,
    kl double not null,
    run_id integer not null
);
comment on table store.neuron_effects is 'One row per model, corpus and neuron that was turned off alone (0 after the non-linearity). Losses and divergences are sums over tokens.';
comment on column store.neuron_effects.model_id is 'The model.';
comment on column store.neuron_effects.corpus_id is 'The corpus.';
comment on column store.neuron_effects.layer is 'Layer, from 0.';
comment on column store.neuron_effects.neuron is 'Neuron within the layer, from 0.';
comment on column store.neuron_effects.is_control is 'Whether it is one of the up to 20 random neurons of its layer that others are compared with.';
comment on column store.neuron_effects.n_tokens is 'Tokens that were predicted.';
comment on column store.neuron_effects.nll is 'Negative log-likelihood of these tokens without the neuron, nats.';
comment on column store.neuron_effects.nll_untouched is 'The same in the untouched model.';
comment on column store.neuron_effects.kl is 'Divergence KL(untouched || changed) of the predictions, nats.';
comment on column store.neuron_effects.run_id is 'The run that measured it.';

alter table store.neuron_facts add column effect_on_loss double;
alter table store.neuron_facts add column effect_percentile double;
comment on column store.neuron_facts.effect_on_loss is 'What turning it off alone adds to the loss on the shown corpus, nats a token; null where that was not measured.';
comment on column store.neuron_facts.effect_percentile is 'Percent of the random neurons of its layer whose effect is smaller; null likewise.';
