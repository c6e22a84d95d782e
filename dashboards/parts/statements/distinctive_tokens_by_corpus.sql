-- The tokens that tell some clusters of one model from a corpus, at most $n for each, the most distinctive first.
-- A token is listed where it is among the first ten that a neuron promotes, of a gated model at the pole at which it
-- writes what its cluster has in common. Its odds among all that a cluster's neurons
-- list are held against its odds among the counted positions of the corpus, one half added to each of the four counts
-- (Haldane 1956, Anscombe 1956): a token that the corpus lacks has the odds of half an occurrence. It is distinctive
-- where at least two of the neurons list it, and the log odds ratio lies more than 1.96 of its standard errors (the root of
-- the sum of the four reciprocal counts) above 0; in the order of the log odds ratio over its standard error.
with named as (
    select model_id, tokenizer_id, activation_rule = 'gate > 0' as is_gated
    from store.models
    where name = $model
),
members as (
    select
        clusters.cluster_id,
        clusters.layer,
        clusters.neuron,
        named.is_gated and coalesce(clusters.centre_cosine < 0, false) as is_negative,
    from store.clusters as clusters
    inner join named on named.model_id = clusters.set_id
    where clusters.clustering_id = $clustering_id and list_contains($cluster_ids::integer[], clusters.cluster_id)
),
listed as (
    select
        members.cluster_id,
        members.layer,
        members.neuron,
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
sizes as (
    select cluster_id, count(*) as n_listed, count(distinct (layer, neuron)) as n_members
    from listed
    group by cluster_id
),
inside as (
    select cluster_id, token_id, count(*) as n_inside
    from listed
    group by cluster_id, token_id
    having count(*) >= 2
),
counts as (
    select token_id, sum(n_occurrences)::bigint as n_occurrences
    from store.token_counts
    where corpus_id = $corpus_id
    group by token_id
),
corpus as (
    select sum(n_occurrences)::bigint as n_positions
    from counts
),
shares as (
    select
        inside.cluster_id,
        inside.token_id,
        inside.n_inside,
        sizes.n_members,
        sizes.n_listed,
        coalesce(counts.n_occurrences, 0) as n_occurrences,
        corpus.n_positions,
    from inside
    inner join sizes on sizes.cluster_id = inside.cluster_id
    cross join corpus
    left join counts on counts.token_id = inside.token_id
),
compared as (
    select
        *,
        ln((n_inside + 0.5::double) / (n_listed - n_inside + 0.5::double))
        - ln((n_occurrences + 0.5::double) / (n_positions - n_occurrences + 0.5::double)) as log_odds_ratio,
        sqrt(
            1 / (n_inside + 0.5::double) + 1 / (n_listed - n_inside + 0.5::double)
            + 1 / (n_occurrences + 0.5::double) + 1 / (n_positions - n_occurrences + 0.5::double)
        ) as standard_error,
    from shares
),
ranked as (
    select
        *,
        row_number() over (partition by cluster_id order by log_odds_ratio / standard_error desc, token_id) as place,
    from compared
    where log_odds_ratio > 1.96 * standard_error
)
select
    ranked.cluster_id,
    ranked.place,
    tokens.text as token,
    ranked.n_inside,
    ranked.n_members,
    ranked.n_inside / ranked.n_members as share_inside,
    least(1, ranked.n_listed / ranked.n_members * ranked.n_occurrences / ranked.n_positions) as share_expected,
    ranked.n_inside / ranked.n_listed as share_of_lists,
    ranked.n_occurrences,
    ranked.n_occurrences / ranked.n_positions as share_of_corpus,
    ranked.log_odds_ratio,
    ranked.log_odds_ratio / ranked.standard_error as z,
from ranked
cross join named
inner join store.tokens as tokens on tokens.tokenizer_id = named.tokenizer_id and tokens.token_id = ranked.token_id
where ranked.place <= $n
order by ranked.cluster_id, ranked.place
