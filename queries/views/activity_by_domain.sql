-- One row per model, corpus, layer, neuron and domain: how the neuron fired on each kind of text.
-- Why: a neuron that is silent on prose may be busy on code. From: store.activity. Source: Voita et al. 2023, section 3.
-- Kinds of rows: domain; is_shown, because a model may have several corpora.
-- key: model, corpus_id, layer, neuron, domain
-- columns:
--   model: Name of the model.
--   corpus: Name of the corpus.
--   corpus_id: Number of the corpus in this file.
--   is_shown: Whether the other views show this corpus for the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   domain: Domain of the corpus.
--   n_tokens_seen: Counted positions of the domain.
--   n_active: Counted positions at which the neuron was active.
--   frequency: n_active / n_tokens_seen.
--   mean_activation: Mean of its coefficient over the counted positions.
--   mean_when_active: Mean of its coefficient where it was active, if ever; for ReLU only, null for other models.
--   activation_min: Smallest coefficient.
--   activation_max: Largest coefficient.
--   n_above: Counted positions with |m| above 0.1, 0.5, 1 and 2.
--   first_active: Counted positions of the domain before its first activation; null if never active.
--   n_active_bos: Sequences in which it was active at the prepended BOS.
select
    measured_corpora.model,
    measured_corpora.corpus,
    activity.corpus_id,
    measured_corpora.is_shown,
    activity.layer,
    activity.neuron,
    measured_corpora.model || '/L' || cast(activity.layer as varchar) || 'N' || cast(activity.neuron as varchar)
        as address,
    activity.domain,
    activity.n_positions as n_tokens_seen,
    activity.n_active,
    cast(activity.n_active as double) / nullif(activity.n_positions, 0) as frequency,
    activity.activation_sum / nullif(activity.n_positions, 0) as mean_activation,
    case
        when models.has_exact_zeros then activity.activation_sum / nullif(activity.n_active, 0)
    end as mean_when_active,
    cast(activity.activation_min as double) as activation_min,
    cast(activity.activation_max as double) as activation_max,
    activity.n_above,
    activity.first_active,
    activity.n_active_bos,
from store.activity as activity
inner join measured_corpora
    on measured_corpora.model_id = activity.set_id and measured_corpora.corpus_id = activity.corpus_id
inner join store.models as models on models.model_id = activity.set_id
