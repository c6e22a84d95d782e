-- One row per model, clustering and neuron: which cluster it belongs to, and how near its centre it is.
-- Why: the neurons of a cluster, in any clustering of the model; the view neurons has only the shown one. From:
-- store.clusters. Source: Geva et al. 2022, section 5.2, complete linkage as the code that they link to has it; the
-- number of clusters and centre_cosine are ours.
-- Kinds of rows: is_shown, because a model may have several clusterings, each with all of its neurons.
-- key: model, clustering_id, layer, neuron
-- columns:
--   model: Name of the model.
--   clustering_id: Number of the clustering in this file.
--   n_clusters: Clusters of this clustering.
--   is_shown: Whether the view neurons shows this clustering.
--   cluster_id: Cluster within the clustering.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   top_tokens: Text of the first ten tokens it promotes at a coefficient above 0, best first.
--   centre_cosine: Cosine of its value vector with the sum of its cluster's unit vectors; null for one shorter than 1e-6. Of a gated model the vectors are summed at the signs that make the sum longest, and the cosine is below 0 at the other one.
--   bottom_tokens: Text of the first ten tokens it suppresses, lowest first.
--   pole: Sign of the coefficient at which it writes what its cluster has in common (positive, negative): of a gated model; null in others.
select
    models.name as model,
    clusters.clustering_id,
    clusterings.n_clusters,
    facts.clustering_id is not distinct from clusters.clustering_id as is_shown,
    clusters.cluster_id,
    clusters.layer,
    clusters.neuron,
    facts.address,
    facts.top_tokens,
    clusters.centre_cosine,
    facts.bottom_tokens,
    case
        when models.activation_rule <> 'gate > 0' then null
        when clusters.centre_cosine < 0 then 'negative'
        when clusters.centre_cosine >= 0 then 'positive'
    end as pole,
from store.clusters as clusters
inner join store.clusterings as clusterings on clusterings.clustering_id = clusters.clustering_id
inner join store.models as models on models.model_id = clusters.set_id
inner join store.neuron_facts as facts
    on facts.set_id = clusters.set_id and facts.layer = clusters.layer and facts.neuron = clusters.neuron
