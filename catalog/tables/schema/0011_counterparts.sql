-- Neurons of two models that do alike. A run of the job counterparts is about a model and another one.

alter table store.runs add column other_model_id integer;
comment on column store.runs.other_model_id is 'The model that it was compared with; null for jobs about one model.';

create table store.counterparts (
    model_id integer not null,
    layer smallint not null,
    neuron integer not null,
    other_model_id integer not null,
    rank smallint not null,
    other_layer smallint not null,
    other_neuron integer not null,
    overlap double not null,
    null_99 double not null,
    is_mutual boolean not null,
    run_id integer not null
);
comment on table store.counterparts is 'One row per neuron, other model and rank: the neurons of the other model, of the same tokenizer, whose lists of tokens overlap most with its own.';
comment on column store.counterparts.model_id is 'The model.';
comment on column store.counterparts.layer is 'Layer, 0-based.';
comment on column store.counterparts.neuron is 'Neuron within the layer, 0-based.';
comment on column store.counterparts.other_model_id is 'The other model.';
comment on column store.counterparts.rank is 'Place among its best in the other model, 1-based, at most 5; ties by layer, then neuron. Neurons that share no listed token are none.';
comment on column store.counterparts.other_layer is 'Layer of the other model''s neuron.';
comment on column store.counterparts.other_neuron is 'The other model''s neuron within its layer.';
comment on column store.counterparts.overlap is 'Weight that both neurons give to the tokens of their lists over the weight that either gives; a token at rank r weighs 1 / log2(1 + r). 1 for equal lists, 0 for disjoint ones.';
comment on column store.counterparts.null_99 is 'Overlap that 99 percent of 500 random vectors like the layer''s value vectors do not exceed with their best neuron of the other model.';
comment on column store.counterparts.is_mutual is 'Whether each of the two is the other''s first.';
comment on column store.counterparts.run_id is 'The run that measured it.';
