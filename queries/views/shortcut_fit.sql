-- One row per model, method, source state and target state: how well one state predicts another, on the shown corpus.
-- Why: the heat maps of Din et al. 2023: how linear a model is between any two of its layers. From: store.shortcuts,
-- measured_corpora. Source: Din et al. 2023, section 3: r^2 of each coordinate on the validation sentences, averaged
-- uniformly. The depths, which compare sizes, are ours.
-- Kinds of rows: method.
-- key: model, method, source_state, target_state
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   method: id: the source state itself; mat: its least-squares map, without an intercept.
--   source_state: State s: 0 the embeddings, s what leaves block s - 1, before the final norm.
--   target_state: State above the source.
--   source_depth: source_state / n_layers.
--   target_depth: target_state / n_layers.
--   r2: Coefficient of determination; 1 is exact, below 0 is worse than the mean.
--   condition: Largest over smallest singular value of the source's states, of those that count; null for id.
--   rank: Singular values that count; below d_model the map is the one of least norm; null for id.
--   n_fit: Sentences it was fitted on.
--   n_validation: Sentences it is judged by.
--   corpus: The shown corpus.
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    shortcuts.method,
    shortcuts.source_state,
    shortcuts.target_state,
    cast(shortcuts.source_state as double) / models.n_layers as source_depth,
    cast(shortcuts.target_state as double) / models.n_layers as target_depth,
    shortcuts.r2,
    shortcuts.condition,
    shortcuts.rank,
    shortcuts.n_fit,
    shortcuts.n_validation,
    measured_corpora.corpus,
from store.shortcuts as shortcuts
inner join measured_corpora
    on measured_corpora.model_id = shortcuts.model_id and measured_corpora.corpus_id = shortcuts.corpus_id
inner join store.models as models on models.model_id = shortcuts.model_id
where measured_corpora.is_shown
