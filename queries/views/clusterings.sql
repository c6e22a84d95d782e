-- One row per model and clustering: how tight its clusters of value vectors are, beside those of random directions.
-- Why: the closest of many directions are close by chance; what clusters say of a model is what random ones lack. From:
-- clusters_summary, store.clusterings and store.cluster_controls. Source: this project; Geva et al. 2022, section 5.2, have clusters
-- without a control. As many directions as there are neurons are drawn evenly from the sphere, linked alike and cut into as many clusters.
-- Kinds of rows: is_shown, because a model may have several clusterings.
-- key: model, clustering_id
-- columns:
--   model: Name of the model.
--   clustering_id: Number of the clustering in this file.
--   method: exact: complete linkage over all pairs; scalable: the first merges within parts of the vectors.
--   n_clusters_asked: Clusters asked for.
--   n_clusters: Clusters obtained.
--   is_shown: Whether the view neurons shows this clustering.
--   n_several: Clusters of at least two neurons: those that have a cohesion.
--   median_cohesion: Median of their cohesions: mean cosine of pairs of value vectors.
--   max_cohesion: The largest.
--   n_null: Clusters of at least two random directions; null, as everything below, where an earlier release clustered the model.
--   null_median: Median of their cohesions.
--   null_95: Cohesion that 95 percent of them do not exceed.
--   null_max: The largest of theirs.
--   n_beyond_null: Clusters of neurons whose cohesion exceeds null_95.
--   share_beyond_null: n_beyond_null / n_several: 0.05 of clusters by chance.
with tight as (
    select
        clustering_id,
        is_shown,
        count(cohesion) as n_several,
        median(cohesion) as median_cohesion,
        max(cohesion) as max_cohesion,
        cast(sum(case when is_beyond_null then 1 else 0 end) as bigint) as n_beyond_null,
    from clusters_summary
    group by clustering_id, is_shown
)
select
    models.name as model,
    clusterings.clustering_id,
    clusterings.method,
    clusterings.n_clusters_asked,
    clusterings.n_clusters,
    tight.is_shown,
    tight.n_several,
    tight.median_cohesion,
    tight.max_cohesion,
    randomised.n_several as n_null,
    randomised.median_cohesion as null_median,
    randomised.p95_cohesion as null_95,
    randomised.max_cohesion as null_max,
    case when randomised.p95_cohesion is not null then tight.n_beyond_null end as n_beyond_null,
    case
        when randomised.p95_cohesion is not null
            then cast(tight.n_beyond_null as double) / nullif(tight.n_several, 0)
    end as share_beyond_null,
from store.clusterings as clusterings
inner join store.models as models on models.model_id = clusterings.set_id
inner join tight on tight.clustering_id = clusterings.clustering_id
left join store.cluster_controls as randomised
    on randomised.set_id = clusterings.set_id and randomised.n_clusters_asked = clusterings.n_clusters_asked
