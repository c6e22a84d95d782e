-- One row per neuron, other model and rank: the neurons of the other model that promote and suppress most of the same tokens.
-- Why: which neuron of a larger model, or of another seed, does this one's job. From: store.counterparts,
-- store.neuron_facts. Source: this project; lists of tokens compared rank by rank, at most five for each neuron and pair of
-- models. Every neuron has a nearest one, and in small models under-trained tokens crowd the lists
-- and everything overlaps: where n_beyond_null is 0 there is none above chance.
-- Kinds of rows: is_beyond_null, because a row without it is not a counterpart.
-- key: model, layer, neuron, other_model, rank
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: Relative depth of its layer.
--   other_model: Name of the other model, which has the same tokenizer.
--   rank: Place among its best in the other model, 1-based; ties by layer, then neuron.
--   other_layer: Layer of the other model's neuron.
--   other_neuron: The other model's neuron within its layer.
--   other_address: Its address.
--   other_depth: Relative depth of its layer.
--   overlap: Weight that both give to the tokens of their lists over the weight that either gives; a token at rank r weighs 1 / log2(1 + r).
--   null_99: Overlap that 99 percent of random vectors like the layer's value vectors do not exceed with their best neuron of the other model.
--   is_beyond_null: Whether the overlap exceeds null_99; otherwise the neuron is not a counterpart.
--   n_beyond_null: How many of its best in the other model exceed it; 0: none above chance.
--   is_mutual: Whether each of the two is the other's best match.
--   top_tokens: Text of the first ten tokens that it promotes, best first.
--   other_top_tokens: The same of the other model's neuron.
--   bottom_tokens: Text of the first ten tokens that it suppresses, lowest first.
--   other_bottom_tokens: The same of the other model's neuron.
select
    models.name as model,
    found.layer,
    found.neuron,
    facts.address,
    facts.depth,
    other_models.name as other_model,
    found.rank,
    found.other_layer,
    found.other_neuron,
    others.address as other_address,
    others.depth as other_depth,
    found.overlap,
    found.null_99,
    found.overlap > found.null_99 as is_beyond_null,
    count(case when found.overlap > found.null_99 then 1 end) over (
        partition by models.name, found.layer, found.neuron, other_models.name
    ) as n_beyond_null,
    found.is_mutual,
    facts.top_tokens,
    others.top_tokens as other_top_tokens,
    facts.bottom_tokens,
    others.bottom_tokens as other_bottom_tokens,
from store.counterparts as found
inner join store.models as models on models.model_id = found.model_id
inner join store.models as other_models on other_models.model_id = found.other_model_id
inner join store.neuron_facts as facts
    on facts.model_id = found.model_id and facts.layer = found.layer and facts.neuron = found.neuron
inner join store.neuron_facts as others
    on
        others.model_id = found.other_model_id
        and others.layer = found.other_layer
        and others.neuron = found.other_neuron
