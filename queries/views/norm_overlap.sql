-- One row per model, layer and kind of vector: the effect of the final norm on which tokens are promoted most.
-- Why: raw scores leave the final norm out; where the overlap is high they say the same as scores through it. From:
-- store.norm_overlaps. Source: Geva et al. 2022, appendix A.1 and Figure 4; that the final norm is meant, random vectors
-- and the variant without the norm's bias, which pulls every vector the same way, are ours.
-- Kinds of rows: kind.
-- key: model, layer, kind
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   kind: value: the layer's value vectors; random: its random vectors.
--   norm_overlap: Mean intersection over union of the 30 highest tokens without and with the final norm; null for models without one.
--   norm_overlap_without_bias: The same with the norm's bias left out.
--   n: Vectors behind the means.
select
    models.name as model,
    measured.layer,
    (measured.layer + cast(0.5 as double)) / models.n_layers as depth,
    measured.kind,
    measured.norm_overlap,
    measured.norm_overlap_without_bias,
    measured.n,
from store.norm_overlaps as measured
inner join store.models as models on models.model_id = measured.model_id
