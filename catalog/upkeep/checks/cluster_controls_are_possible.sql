-- A run that clusters random directions has them for each of its clusterings, and their cohesion rises to the largest.
with sizes as (
    select set_id, run_id, n_clusters_asked from store.clusterings
)
select 'set ' || coalesce(controls.set_id, sizes.set_id) || ', '
    || coalesce(controls.n_clusters_asked, sizes.n_clusters_asked) || ' clusters' as place
from store.cluster_controls as controls
full join sizes
    on
        sizes.set_id = controls.set_id
        and sizes.run_id = controls.run_id
        and sizes.n_clusters_asked = controls.n_clusters_asked
where
    sizes.set_id is null
    or (controls.set_id is null and sizes.run_id in (select run_id from store.cluster_controls))
    or controls.n_clusters > controls.n_clusters_asked
    or controls.n_several not between 0 and controls.n_clusters
    or (controls.n_several = 0) is distinct from (controls.median_cohesion is null)
    or (controls.p95_cohesion is null) is distinct from (controls.median_cohesion is null)
    or (controls.max_cohesion is null) is distinct from (controls.median_cohesion is null)
    -- Rounding takes a mean of cosines beyond 1.
    or controls.median_cohesion < -1 - 1e-6
    or controls.median_cohesion > controls.p95_cohesion + 1e-9
    or controls.p95_cohesion > controls.max_cohesion + 1e-9
    or controls.max_cohesion > 1 + 1e-6
