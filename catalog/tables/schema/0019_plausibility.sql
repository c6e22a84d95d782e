-- What people say of the tokens that a model read from an inner state puts first: whether one of them is plausible.

create table store.plausibility_judgements (
    judgement_id varchar not null,
    model_id integer not null,
    text varchar not null,
    shown_token_ids integer[] not null,
    is_plausible boolean not null,
    annotator varchar not null,
    created_at timestamp not null
);
comment on table store.plausibility_judgements is 'One row per annotator, model, sentence and list of tokens: whether at least one of the tokens is a plausible continuation (after Din et al. 2023). Which shortcut and state gave the list is not kept: several may have given it.';
comment on column store.plausibility_judgements.judgement_id is 'UUID of the judgement, so that those of several people can be merged.';
comment on column store.plausibility_judgements.model_id is 'The model.';
comment on column store.plausibility_judgements.text is 'The sentence that was shown: what the model had read, or the whole one with a mask.';
comment on column store.plausibility_judgements.shown_token_ids is 'The tokens that were shown, at most 5, best first.';
comment on column store.plausibility_judgements.is_plausible is 'Whether the annotator finds at least one of them plausible.';
comment on column store.plausibility_judgements.annotator is 'Who judged.';
comment on column store.plausibility_judgements.created_at is 'When it was published, in UTC.';
