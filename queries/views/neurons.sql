-- One row per model, layer and neuron: what it promotes and how often it fires on the model's shown corpus.
-- Why: the first place to ask. From: store.neuron_facts, which every publish rebuilds; labels are expressions here, so
-- copy the query and move a threshold. Sources: scores Geva et al. 2022, sections 3 and 4; frequency and dead neurons
-- Voita et al. 2023, section 3; the bound behind is_provably_dead is ours. A label is null only where its job has not
-- run or where it has no meaning for the model.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   value_norm: L2 norm of the value vector.
--   top_tokens: Text of the first ten tokens it promotes, best first.
--   bottom_tokens: Text of the first ten tokens it suppresses, lowest first.
--   frequency: Share of the counted positions at which it was active.
--   is_dead: Never active on the shown corpus; null for models without exact zeros.
--   never_active: Never active on the shown corpus, whatever the non-linearity.
--   is_provably_dead: No input can activate it; null for post-norm blocks and models without exact zeros.
--   n_tokens_seen: Counted positions it was watched on: what stands behind every "dead".
--   n_active: Counted positions at which it was active.
--   n_active_bos: Sequences in which it was active at the prepended BOS, which is not a counted position.
--   first_active: Counted positions before its first activation; null if never active.
--   mean_activation: Mean of its coefficient over the counted positions.
--   activation_min: Smallest coefficient.
--   activation_max: Largest coefficient.
--   corpus: The shown corpus; null before any text was measured.
--   score_mean: Mean raw score over the vocabulary.
--   score_sd: Standard deviation of the raw scores.
--   skewness: Skewness of the raw scores.
--   kurtosis: Excess kurtosis of the raw scores.
--   score_negative_share: Share of the tokens whose raw score is below 0.
--   preactivation_bound: No input can raise its pre-activation above this.
--   top_token_log_frequency: Mean of ln(1 + corpus count) over its listed top tokens: low where under-trained tokens crowd the list.
with thresholds as (
    select
        cast(0 as bigint) as dead_active_positions,
        cast(0 as double) as dead_bound,
),
measured as (
    select
        facts.model_id,
        facts.corpus_id,
        facts.layer,
        facts.neuron,
        facts.address,
        facts.depth,
        facts.value_norm,
        facts.top_tokens,
        facts.bottom_tokens,
        facts.n_positions,
        facts.n_active,
        facts.n_active_bos,
        facts.first_active,
        facts.activation_sum,
        facts.activation_min,
        facts.activation_max,
        facts.score_mean,
        facts.score_sd,
        facts.score_skewness,
        facts.score_kurtosis,
        facts.score_negative_share,
        facts.preactivation_bound,
        facts.top_token_log_frequency,
        facts.n_active = thresholds.dead_active_positions as never_active,
        facts.preactivation_bound < thresholds.dead_bound as bound_below,
    from store.neuron_facts as facts
    cross join thresholds
)
select
    models.name as model,
    models.family,
    models.variant,
    models.n_parameters - models.n_parameters_embedding as size,
    measured.layer,
    measured.neuron,
    measured.address,
    measured.depth,
    measured.value_norm,
    measured.top_tokens,
    measured.bottom_tokens,
    cast(measured.n_active as double) / nullif(measured.n_positions, 0) as frequency,
    case when models.has_exact_zeros then measured.never_active end as is_dead,
    measured.never_active,
    case when models.has_exact_zeros then measured.bound_below end as is_provably_dead,
    measured.n_positions as n_tokens_seen,
    measured.n_active,
    measured.n_active_bos,
    measured.first_active,
    measured.activation_sum / nullif(measured.n_positions, 0) as mean_activation,
    measured.activation_min,
    measured.activation_max,
    corpora.name as corpus,
    measured.score_mean,
    measured.score_sd,
    measured.score_skewness as skewness,
    measured.score_kurtosis as kurtosis,
    measured.score_negative_share,
    measured.preactivation_bound,
    measured.top_token_log_frequency,
from measured
inner join store.models as models on models.model_id = measured.model_id
left join store.corpora as corpora on corpora.corpus_id = measured.corpus_id
