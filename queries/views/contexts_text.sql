-- One row per model, layer, neuron and rank: a place of strongest activation in the shown corpus, with the text around it.
-- Why: what the neuron reacts to; a condition on address, or on model, layer and neuron, is quick; the whole view is not.
-- From: contexts_by_corpus. Source: this project; ranked by |m|, at most one place per sequence.
-- key: model, layer, neuron, rank
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   rank: Place by |m|, 1-based.
--   activation: The coefficient m there, sign kept.
--   domain: Domain of the sequence.
--   sequence_id: Sequence of the corpus.
--   position: Position in the sequence, 0-based.
--   before: Text of the twelve tokens before, fewer at the beginning.
--   token: Exact text of the token at the position.
--   after: Text of the six tokens after, fewer at the end.
--   corpus: The shown corpus.
select
    model,
    layer,
    neuron,
    address,
    rank,
    activation,
    domain,
    sequence_id,
    position,
    before,
    token,
    after,
    corpus,
from contexts_by_corpus
where is_shown
