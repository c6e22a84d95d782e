-- One row per model, neuron and rank: the neurons whose value vectors point most nearly the same way.
-- Why: twins and relatives of a neuron, in its own layer and in others. From: store.neighbours. Source: this project; cosine
-- over the whole model, ten per neuron.
-- key: model, layer, neuron, rank
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   rank: Place among its nearest, 1-based; ties by layer, then neuron.
--   cosine: Cosine of the two value vectors; of a gated model those of largest absolute value are kept, and below 0 the two do the same at opposite signs.
--   other_layer: Layer of the near neuron.
--   other_neuron: The near neuron within its layer.
--   other_address: Its address.
--   other_top_tokens: Text of the first ten tokens that it promotes at a coefficient above 0, best first.
--   other_bottom_tokens: Text of the first ten tokens that it suppresses, lowest first.
select
    models.name as model,
    near.layer,
    near.neuron,
    facts.address,
    near.rank,
    cast(near.cosine as double) as cosine,
    near.other_layer,
    near.other_neuron,
    others.address as other_address,
    others.top_tokens as other_top_tokens,
    others.bottom_tokens as other_bottom_tokens,
from store.neighbours as near
inner join store.models as models on models.model_id = near.set_id
inner join store.neuron_facts as facts
    on facts.set_id = near.set_id and facts.layer = near.layer and facts.neuron = near.neuron
inner join store.neuron_facts as others
    on others.set_id = near.set_id and others.layer = near.other_layer and others.neuron = near.other_neuron
