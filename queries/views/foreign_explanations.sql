-- One row per foreign catalog, neuron and explanation: what somebody else says in words that the neuron responds to.
-- Why: texts by others beside what was measured here; their scores are theirs, and no control of them was made here.
-- From: store.foreign_explanations, which `neurothek import --from neuronpedia FOLDER` fills. Source: the catalog, see foreign_catalogs.
-- key: catalog, model, layer, neuron, number
-- columns:
--   model: Name of the model here.
--   catalog: The catalog: its kind, and the beginning of a fingerprint.
--   kind: Whose form it has: neuronpedia, gluscope or openai.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   number: Number of the explanation among those of the neuron, from 1.
--   foreign_explanation: The explanation, as it was written.
--   foreign_explainer: The model or person that wrote it, as they say; null where they do not.
--   foreign_method: How it was made, as they name it; null where they do not.
--   foreign_score: Their score of it; null where they publish none.
--   score_name: Name of that score, as they call it.
select
    models.name as model,
    said.catalog,
    catalogs.kind,
    said.layer,
    said.neuron,
    models.name || '/L' || said.layer || 'N' || said.neuron as address,
    said.number,
    said.text as foreign_explanation,
    said.explainer as foreign_explainer,
    said.method as foreign_method,
    said.score as foreign_score,
    said.score_name,
from store.foreign_explanations as said
inner join store.foreign_catalogs as catalogs
    on catalogs.catalog = said.catalog and catalogs.model_id = said.set_id
inner join store.models as models on models.model_id = said.set_id
