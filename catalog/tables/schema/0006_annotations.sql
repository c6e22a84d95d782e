-- What people see in vectors: the concepts that they name in the tokens of neurons and of controls.

create table store.annotations (
    annotation_id varchar not null,
    model_id integer not null,
    layer smallint not null,
    condition varchar not null,
    neuron integer,
    control_id integer,
    shown_token_ids integer[] not null,
    concept varchar,
    class varchar,
    token_ids integer[] not null,
    annotator varchar not null,
    created_at timestamp not null
);
comment on table store.annotations is 'One row per annotator, vector and concept that the annotator names in its tokens, or one row that says that there is none (Geva et al. 2022, section 4).';
comment on column store.annotations.annotation_id is 'UUID of the annotation, so that those of several people can be merged.';
comment on column store.annotations.model_id is 'The model.';
comment on column store.annotations.layer is 'Layer of the vector, 0-based.';
comment on column store.annotations.condition is 'What the vector is: value, a neuron''s value vector; random, a random vector; ffn_update, an output of the layer''s FFN.';
comment on column store.annotations.neuron is 'Neuron within the layer, 0-based; null for a control.';
comment on column store.annotations.control_id is 'Number of the control within its layer and kind, 0-based; null for a neuron.';
comment on column store.annotations.shown_token_ids is 'The tokens that were judged: the 30 highest of the vector then, best first.';
comment on column store.annotations.concept is 'Name of the concept, in the annotator''s words; null: the annotator finds no concept in the vector.';
comment on column store.annotations.class is 'semantic, syntactic, names or stopwords-punctuation; null without a concept.';
comment on column store.annotations.token_ids is 'The tokens of the concept, at least 4, best first; empty without a concept.';
comment on column store.annotations.annotator is 'Who annotated.';
comment on column store.annotations.created_at is 'When it was published, in UTC; all concepts of one judgement have the same time.';
