-- One row per model, clustering and cluster: its size, its cohesion, and the tokens its neurons promote together.
-- Why: value vectors that point the same way, often in several layers, act as one; names for clusters start here. From:
-- store.clusterings, store.clusters, store.cluster_controls and neuron_facts. Source: Geva et al. 2022, section 5.2, complete
-- linkage as the code that they link to has it; the number of clusters, cohesion, random clusters and shared tokens are ours. Every clustering of a model is listed: choose one by clustering_id, n_clusters or is_shown.
-- Kinds of rows: is_shown, because a model may have several clusterings; is_beyond_null, because chance makes clusters, too.
-- key: model, clustering_id, cluster_id
-- kept: clusters
-- columns:
--   model: Name of the model.
--   clustering_id: Number of the clustering in this file.
--   method: exact: complete linkage over all pairs; scalable: the first merges within parts of the vectors.
--   n_clusters: Clusters of this clustering.
--   is_shown: Whether the view neurons shows this clustering.
--   cluster_id: Cluster within the clustering.
--   size: Its neurons.
--   n_layers: Layers they come from.
--   first_layer: The lowest of these.
--   last_layer: The highest.
--   cohesion: Mean cosine of its pairs of value vectors, of a gated model each at its pole (see cluster_members); null for a cluster of one.
--   shared_tokens: Tokens, of a gated model at the neurons' poles, among the first ten of at least a third of its neurons and of at least two, by text; null for a cluster of one.
--   n_shared_tokens: How many these are.
--   top_share: Share of its neurons that have the most common token among their first ten.
--   null_95: Cohesion that 95 percent of clusters of random directions do not exceed: as many directions as there are neurons, clustered alike. Null where an earlier release clustered the model: `neurothek ingest MODEL --job clusters --force` measures them.
--   is_beyond_null: Whether the cohesion exceeds null_95; null where either is.
with thresholds as (
    select
        cast(2 as bigint) as least_members,
        cast(3 as bigint) as parts,
),
poles as (
    -- At its pole a neuron writes what its cluster has in common: the one of its cosine with the cluster's centre.
    select
        clusters.set_id as model_id,
        clusters.clustering_id,
        clusters.cluster_id,
        clusters.layer,
        clusters.neuron,
        case when models.activation_rule = 'gate > 0' then abs(clusters.centre_cosine) else clusters.centre_cosine end
            as centre_cosine,
        models.activation_rule = 'gate > 0' and coalesce(clusters.centre_cosine < 0, false) as is_negative,
    from store.clusters as clusters
    inner join store.models as models on models.model_id = clusters.set_id
),
shown as (
    select distinct
        set_id as model_id,
        clustering_id,
    from store.neuron_facts
    where clustering_id is not null
),
sized as (
    select
        clustering_id,
        cluster_id,
        count(*) as size,
        count(distinct layer) as n_layers,
        min(layer) as first_layer,
        max(layer) as last_layer,
        sum(centre_cosine) as sum_length,
        count(centre_cosine) as n_directions,
    from poles
    group by clustering_id, cluster_id
),
tight as (
    select
        sized.clustering_id,
        sized.cluster_id,
        case
            when sized.size >= thresholds.least_members
                then (sized.sum_length * sized.sum_length - sized.n_directions) / (sized.size * (sized.size - 1))
        end as cohesion,
    from sized
    cross join thresholds
),
listed as (
    select
        poles.clustering_id,
        poles.cluster_id,
        poles.layer,
        poles.neuron,
        unnest(case when poles.is_negative then facts.bottom_tokens else facts.top_tokens end) as token,
    from poles
    inner join store.neuron_facts as facts
        on facts.set_id = poles.model_id and facts.layer = poles.layer and facts.neuron = poles.neuron
),
counted as (
    select
        clustering_id,
        cluster_id,
        token,
        count(distinct (layer, neuron)) as n_members,
    from listed
    group by clustering_id, cluster_id, token
),
common as (
    select
        counted.clustering_id,
        counted.cluster_id,
        counted.token,
        counted.n_members,
        counted.n_members >= thresholds.least_members
        and counted.n_members * thresholds.parts >= sized.size as is_shared,
    from counted
    inner join sized on sized.clustering_id = counted.clustering_id and sized.cluster_id = counted.cluster_id
    cross join thresholds
    where sized.size >= thresholds.least_members
),
shared as (
    select
        clustering_id,
        cluster_id,
        max(n_members) as most_members,
        count(case when is_shared then token end) as n_tokens,
        list_sort(list(token) filter (where is_shared)) as tokens,
    from common
    group by clustering_id, cluster_id
)
select
    models.name as model,
    clusterings.clustering_id,
    clusterings.method,
    clusterings.n_clusters,
    shown.clustering_id is not null as is_shown,
    sized.cluster_id,
    sized.size,
    sized.n_layers,
    sized.first_layer,
    sized.last_layer,
    tight.cohesion,
    shared.tokens as shared_tokens,
    shared.n_tokens as n_shared_tokens,
    cast(shared.most_members as double) / sized.size as top_share,
    randomised.p95_cohesion as null_95,
    tight.cohesion > randomised.p95_cohesion as is_beyond_null,
from store.clusterings as clusterings
inner join store.models as models on models.model_id = clusterings.set_id
inner join sized on sized.clustering_id = clusterings.clustering_id
inner join tight on tight.clustering_id = sized.clustering_id and tight.cluster_id = sized.cluster_id
left join shown on shown.model_id = clusterings.set_id and shown.clustering_id = clusterings.clustering_id
left join store.cluster_controls as randomised
    on randomised.set_id = clusterings.set_id and randomised.n_clusters_asked = clusterings.n_clusters_asked
left join shared on shared.clustering_id = sized.clustering_id and shared.cluster_id = sized.cluster_id
