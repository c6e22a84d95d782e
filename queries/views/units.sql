-- One row per unit of a set and layer: what it promotes and how often it fires, in words that fit every kind of unit.
-- Why: neurons of the feed-forward layers are one kind of unit; what asks here need not change when a file has others.
-- From: neurons, for the sets of kind ffn, and store.unit_sets. Sources: as in neurons; the words are ours. A column is
-- null where it is null in neurons.
-- Kinds of rows: unit_set, because a model may have several sets of units.
-- key: model, unit_set, layer, unit
-- columns:
--   model: Name of the model.
--   unit_set: Name of the set of units; ffn, the neurons of the feed-forward layers.
--   kind: What the units of the set are: ffn.
--   layer: Layer, 0-based.
--   unit: Unit within the layer, 0-based.
--   address: Address of the unit; of a neuron e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   write_norm: L2 norm of the vector that it writes: of a neuron, its value vector.
--   top_tokens: Text of the first ten tokens it promotes, best first: at an activation above 0; below 0 it suppresses them.
--   bottom_tokens: Text of the first ten tokens it suppresses, lowest first; at an activation below 0 it promotes them.
--   corpus: The shown corpus; null before the activity on a text was measured.
--   frequency: Share of the counted positions at which it was active.
--   never_active: Never active on the shown corpus.
--   n_tokens_seen: Counted positions it was measured on: the number behind every "never".
--   n_active: Counted positions at which it was active.
--   first_active: Counted positions before its first activation; null if never active.
--   mean_activation: Mean of its activation over the counted positions.
--   activation_min: Smallest activation.
--   activation_max: Largest activation.
--   token_status: detector, not, or too few activations to tell.
--   detected_tokens: Texts of the tokens it detects, by id; null where it is not a detector.
--   position_kind: oscillatory, both extremes, one extreme, other, not positional, or too few sequences.
--   cluster_id: Cluster of the vector that it writes; null before the job clusters ran.
--   coherence: Mean pairwise cosine of the centred embeddings of those of the tokens it promotes (at its pole) that occur often enough in the corpus.
--   coherence_z: The same in standard deviations above random vectors of the layer; see coherence_separation first.
--   pole: Sign of the activation at which it is strongest (positive, negative), of a signed set; null in others.
select
    neurons.model,
    sets.name as unit_set,
    sets.kind,
    neurons.layer,
    neurons.neuron as unit,
    neurons.address,
    neurons.depth,
    neurons.value_norm as write_norm,
    neurons.top_tokens,
    neurons.bottom_tokens,
    neurons.corpus,
    neurons.frequency,
    neurons.never_active,
    neurons.n_tokens_seen,
    neurons.n_active,
    neurons.first_active,
    neurons.mean_activation,
    neurons.activation_min,
    neurons.activation_max,
    neurons.token_status,
    neurons.detected_tokens,
    neurons.position_kind,
    neurons.cluster_id,
    neurons.coherence,
    neurons.coherence_z,
    neurons.pole,
from neurons
inner join store.models as models on models.name = neurons.model
inner join store.unit_sets as sets on sets.set_id = models.model_id
