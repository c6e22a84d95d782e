-- One row per model, method and state: how often a shortcut from the state predicts the model's own token, on the shown corpus.
-- Why: the curves of precision and surprisal by layer of Din et al. 2023. From: store.shortcut_predictions,
-- measured_corpora. Source: Din et al. 2023, sections 4 and 6; Wilson's intervals and the normal one are ours.
-- Kinds of rows: method.
-- key: model, method, state
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   method: id, mat, or mat_attn, mat_ffn, mat_ln1_ln2: linear maps in place of a part of every block above the state.
--   state: The state that the shortcut starts from; from the last one every method is the model itself.
--   depth: state / n_layers.
--   n: Validation sentences.
--   precision_1: Share of sentences whose top token is the model's top token.
--   precision_1_low: Lower end of its Wilson 95% interval.
--   precision_1_high: Upper end.
--   precision_5: Share of sentences whose top token is among the model's first 5.
--   precision_5_low: Lower end of its Wilson 95% interval.
--   precision_5_high: Upper end.
--   precision_10: Share of sentences whose top token is among the model's first 10.
--   precision_10_low: Lower end of its Wilson 95% interval.
--   precision_10_high: Upper end.
--   surprisal: Mean surprisal of the top token under the model, nats.
--   surprisal_low: Mean - 1.96 sd / sqrt(n).
--   surprisal_high: Mean + 1.96 sd / sqrt(n).
--   corpus: The shown corpus.
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    predictions.method,
    predictions.state,
    cast(predictions.state as double) / models.n_layers as depth,
    predictions.n,
    predictions.precision_1,
    predictions.precision_1_low,
    predictions.precision_1_high,
    predictions.precision_5,
    predictions.precision_5_low,
    predictions.precision_5_high,
    predictions.precision_10,
    predictions.precision_10_low,
    predictions.precision_10_high,
    predictions.surprisal,
    predictions.surprisal_low,
    predictions.surprisal_high,
    measured_corpora.corpus,
from store.shortcut_predictions as predictions
inner join measured_corpora
    on measured_corpora.model_id = predictions.model_id and measured_corpora.corpus_id = predictions.corpus_id
inner join store.models as models on models.model_id = predictions.model_id
where measured_corpora.is_shown
