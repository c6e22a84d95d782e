-- One row per model, method and parameter: how often a shortcut predicts the model's own token, against the layers that run.
-- Why: how much of a model can be skipped at what cost, for models of several sizes. From: store.exits of the shown
-- corpus. Source: Din et al. 2023, section 5: precision@1 against the mean number of layers; confidence exits and fixed
-- ones. Layers at 95% precision are ours: linear interpolation where the curve of a method, its parameters ordered by
-- the layers they run, first crosses it from below.
-- Kinds of rows: method.
-- key: model, method, parameter
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   n_layers: Number of blocks.
--   method: mat, id: left where the shortcut is confident enough; fixed_mat, fixed_id: always left at one state.
--   parameter: The threshold lambda on the confidence, or the state.
--   n: Sentences.
--   precision_1: Share of the sentences whose most likely token at the exit is the model's own.
--   precision_1_low: Lower end of its Wilson 95% interval.
--   precision_1_high: Upper end of it.
--   layers_run: Mean number of layers that ran.
--   layers_run_low: Lower end of its normal 95% interval; null for a single sentence.
--   layers_run_high: Upper end of it.
--   run_share: layers_run / n_layers.
--   layers_saved: n_layers - layers_run.
--   saved_share: layers_saved / n_layers.
--   layers_at_95: Layers that run at 95% precision, of the method: the same at every parameter; null where its curve never crosses 95% from below.
--   layers_saved_at_95: n_layers - layers_at_95.
--   saved_share_at_95: layers_saved_at_95 / n_layers.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(0.95 as double) as wanted_precision,
        cast(1.959963984540054 as double) as normal_975,
),
shown as (
    select
        exits.model_id,
        measured_corpora.corpus,
        exits.method,
        exits.parameter,
        exits.n,
        exits.accuracy,
        exits.layers_run,
        exits.layers_run_sd,
        exits.layers_saved,
        lag(exits.accuracy) over (
            partition by exits.model_id, exits.method
            order by exits.layers_run, exits.parameter
        ) as accuracy_before,
        lag(exits.layers_run) over (
            partition by exits.model_id, exits.method
            order by exits.layers_run, exits.parameter
        ) as layers_before,
    from store.exits as exits
    inner join measured_corpora
        on measured_corpora.model_id = exits.model_id and measured_corpora.corpus_id = exits.corpus_id
    where measured_corpora.is_shown and exits.method in ('mat', 'id', 'fixed_mat', 'fixed_id')
),
crossings as (
    select
        shown.model_id,
        shown.method,
        min(
            shown.layers_before
            + (shown.layers_run - shown.layers_before)
            * (thresholds.wanted_precision - shown.accuracy_before)
            / (shown.accuracy - shown.accuracy_before)
        ) as layers_at_95,
    from shown
    cross join thresholds
    where
        shown.accuracy_before < thresholds.wanted_precision
        and shown.accuracy >= thresholds.wanted_precision
    group by shown.model_id, shown.method
),
steps as (
    select
        shown.model_id,
        shown.method,
        shown.parameter,
        1 + power(thresholds.normal_975, 2) / shown.n as widened,
        shown.accuracy + power(thresholds.normal_975, 2) / (2 * shown.n) as centre,
        thresholds.normal_975
        * sqrt(
            shown.accuracy * (1 - shown.accuracy) / shown.n
            + power(thresholds.normal_975, 2) / (4 * power(shown.n, 2))
        ) as half_width,
        thresholds.normal_975 * shown.layers_run_sd / sqrt(shown.n) as half_layers,
    from shown
    cross join thresholds
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    models.n_layers,
    shown.method,
    shown.parameter,
    shown.n,
    shown.accuracy as precision_1,
    (steps.centre - steps.half_width) / steps.widened as precision_1_low,
    (steps.centre + steps.half_width) / steps.widened as precision_1_high,
    shown.layers_run,
    shown.layers_run - steps.half_layers as layers_run_low,
    shown.layers_run + steps.half_layers as layers_run_high,
    shown.layers_run / models.n_layers as run_share,
    shown.layers_saved,
    shown.layers_saved / models.n_layers as saved_share,
    crossings.layers_at_95,
    models.n_layers - crossings.layers_at_95 as layers_saved_at_95,
    (models.n_layers - crossings.layers_at_95) / models.n_layers as saved_share_at_95,
    shown.corpus,
from shown
inner join store.models as models on models.model_id = shown.model_id
inner join steps
    on steps.model_id = shown.model_id and steps.method = shown.method and steps.parameter = shown.parameter
left join crossings on crossings.model_id = shown.model_id and crossings.method = shown.method
