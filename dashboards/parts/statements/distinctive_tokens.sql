-- The tokens that tell some clusters of one model from its other neurons, at most $n for each, the most distinctive first.
-- A token is listed where it is among the first ten that a neuron promotes, of a gated model at the pole at which it
-- writes what its cluster has in common. It is distinctive of a cluster where at least
-- two of its neurons list it, and a larger share of them (p) than of all neurons of the model (q); in the order of
-- p * ln(p / q), its part in the divergence of the cluster's lists from the model's.
with named as (
    select model_id, tokenizer_id, activation_rule = 'gate > 0' as is_gated
    from store.models
    where name = $model
),
neurons as (
    select
        clusters.cluster_id,
        clusters.layer,
        clusters.neuron,
        named.is_gated and coalesce(clusters.centre_cosine < 0, false) as is_negative,
    from store.clusters as clusters
    inner join named on named.model_id = clusters.set_id
    where clusters.clustering_id = $clustering_id
),
members as (
    select *
    from neurons
    where list_contains($cluster_ids::integer[], cluster_id)
),
sizes as (
    select cluster_id, count(*) as n_members
    from members
    group by cluster_id
),
listed as (
    select
        members.cluster_id,
        unnest(
            list_slice(
                case when members.is_negative then projections.bottom_token_ids else projections.top_token_ids end, 1, 10
            )
        ) as token_id,
    from members
    cross join named
    inner join store.projections as projections
        on projections.set_id = named.model_id
        and projections.layer = members.layer
        and projections.neuron = members.neuron
),
inside as (
    select cluster_id, token_id, count(*) as n_inside
    from listed
    group by cluster_id, token_id
    having count(*) >= 2
),
wanted as (
    select distinct token_id
    from inside
),
everywhere as (
    select postings.token_id, count(*) as n_listing
    from store.postings as postings
    inner join named on named.model_id = postings.set_id
    inner join wanted on wanted.token_id = postings.token_id
    inner join neurons on neurons.layer = postings.layer and neurons.neuron = postings.neuron
    where postings.rank <= 10 and (postings.side = 'suppressed') = neurons.is_negative
    group by postings.token_id
),
counted as (
    select count(*) as n_neurons
    from neurons
),
shares as (
    select
        inside.cluster_id,
        inside.token_id,
        inside.n_inside,
        sizes.n_members,
        inside.n_inside / sizes.n_members as share_inside,
        everywhere.n_listing / counted.n_neurons as share_expected,
    from inside
    inner join sizes on sizes.cluster_id = inside.cluster_id
    inner join everywhere on everywhere.token_id = inside.token_id
    cross join counted
),
ranked as (
    select
        cluster_id,
        token_id,
        n_inside,
        n_members,
        share_inside,
        share_expected,
        row_number() over (
            partition by cluster_id order by share_inside * ln(share_inside / share_expected) desc, token_id
        ) as place,
    from shares
    where share_inside > share_expected
)
select
    ranked.cluster_id,
    ranked.place,
    tokens.text as token,
    ranked.n_inside,
    ranked.n_members,
    ranked.share_inside,
    ranked.share_expected,
from ranked
cross join named
inner join store.tokens as tokens on tokens.tokenizer_id = named.tokenizer_id and tokens.token_id = ranked.token_id
where ranked.place <= $n
order by ranked.cluster_id, ranked.place
