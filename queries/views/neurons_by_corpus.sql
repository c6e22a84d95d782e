-- One row per model, corpus, layer and neuron: how often it fires on every corpus the model was measured on.
-- Why: the view neurons shows one corpus per model; this one shows all. From: store.activity, summed over domains.
-- Source: Voita et al. 2023, section 3; that the prepended BOS does not count is ours.
-- Kinds of rows: is_shown, because a model may have several corpora.
-- key: model, corpus_id, layer, neuron
-- columns:
--   model: Name of the model.
--   corpus: Name of the corpus.
--   corpus_id: Number of the corpus in this file.
--   is_shown: Whether the other views show this corpus for the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   n_tokens_seen: Counted positions of the corpus.
--   n_active: Counted positions at which the neuron was active.
--   frequency: n_active / n_tokens_seen.
--   is_dead: Never active on the corpus; null for models without exact zeros.
--   never_active: Never active on the corpus, whatever the non-linearity.
--   n_active_bos: Sequences in which it was active at the prepended BOS.
--   fires_only_at_bos: Active at the prepended BOS and at no counted position: dead only because the BOS does not count, which is ours.
--   mean_activation: Mean of its coefficient over the counted positions.
--   activation_min: Smallest coefficient.
--   activation_max: Largest coefficient.
--   effective_frequency: (sum |m|)^2 / (N * sum m^2) over the counted positions: no threshold says what is active.
with thresholds as (
    select cast(0 as bigint) as dead_active_positions,
),
sums as (
    select
        set_id as model_id,
        corpus_id,
        layer,
        neuron,
        cast(sum(n_positions) as bigint) as n_positions,
        cast(sum(n_active) as bigint) as n_active,
        cast(sum(n_active_bos) as bigint) as n_active_bos,
        sum(activation_sum) as activation_sum,
        sum(activation_abs_sum) as abs_sum,
        sum(activation_square_sum) as square_sum,
        cast(min(activation_min) as double) as activation_min,
        cast(max(activation_max) as double) as activation_max,
    from store.activity
    group by set_id, corpus_id, layer, neuron
)
select
    measured_corpora.model,
    measured_corpora.corpus,
    sums.corpus_id,
    measured_corpora.is_shown,
    sums.layer,
    sums.neuron,
    measured_corpora.model || '/L' || cast(sums.layer as varchar) || 'N' || cast(sums.neuron as varchar) as address,
    (cast(sums.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    sums.n_positions as n_tokens_seen,
    sums.n_active,
    cast(sums.n_active as double) / nullif(sums.n_positions, 0) as frequency,
    case when models.has_exact_zeros then sums.n_active = thresholds.dead_active_positions end as is_dead,
    sums.n_active = thresholds.dead_active_positions as never_active,
    sums.n_active_bos,
    sums.n_active = thresholds.dead_active_positions and sums.n_active_bos > 0 as fires_only_at_bos,
    sums.activation_sum / nullif(sums.n_positions, 0) as mean_activation,
    sums.activation_min,
    sums.activation_max,
    sums.abs_sum * sums.abs_sum / nullif(cast(sums.n_positions as double) * sums.square_sum, 0) as effective_frequency,
from sums
inner join measured_corpora
    on measured_corpora.model_id = sums.model_id and measured_corpora.corpus_id = sums.corpus_id
inner join store.models as models on models.model_id = sums.model_id
cross join thresholds
