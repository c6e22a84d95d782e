-- A model's size is said once: all views tell it, and order models by it.
alter table store.models add column size bigint default 0;
alter table store.models alter column size set not null;
update store.models set size = n_parameters - n_parameters_embedding;
comment on column store.models.size is 'Parameters without embeddings: n_parameters less n_parameters_embedding.';
