-- Rows of views that sum up whole models, kept as they were computed when the model's measurements last changed.
create table store.kept_views (
    place integer not null,
    name varchar not null,
    key varchar not null,
    source varchar not null,
    query varchar not null,
    query_of_model varchar not null
);
comment on table store.kept_views is 'One row per view whose rows lie in the table kept_NAME, because computing them reads every neuron.';
comment on column store.kept_views.place is 'Order of computing: a view comes after those it reads.';
comment on column store.kept_views.name is 'Name of the view.';
comment on column store.kept_views.key is 'Columns that identify a row, separated by commas.';
comment on column store.kept_views.source is 'Table of the store without whose rows a model has none in the view.';
comment on column store.kept_views.query is 'The query that computes its rows.';
comment on column store.kept_views.query_of_model is 'The same for one model alone, $model_id, called $model.';
