-- What stands beside neurons that were found, read at the rows where they lie: their activity and their first tokens.
with facts as (
    select model_id, layer, neuron, corpus_id, address, depth, n_active, n_positions,
    from store.neuron_facts
    where rowid in (select unnest($neuron_facts::bigint[]))
),
lists as (
    -- Ids are read a few rows at a time in a seventh of the time that the texts of neuron_facts take.
    select model_id, layer, neuron, top_token_ids[1:10] as top_token_ids, bottom_token_ids[1:10] as bottom_token_ids,
    from store.projections
    where rowid in (select unnest($projections::bigint[]))
),
asked as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($layers::integer[]) as layer,
        unnest($neurons::integer[]) as neuron,
        unnest($listed_sides::varchar[]) as side,
),
nearby as (
    select
        lists.model_id,
        lists.layer,
        lists.neuron,
        unnest(case asked.side when 'promoted' then lists.top_token_ids else lists.bottom_token_ids end) as token_id,
        generate_subscripts(
            case asked.side when 'promoted' then lists.top_token_ids else lists.bottom_token_ids end, 1
        ) as rank,
    from lists
    inner join asked
        on asked.model_id = lists.model_id and asked.layer = lists.layer and asked.neuron = lists.neuron
),
neighbours as (
    select
        nearby.model_id,
        nearby.layer,
        nearby.neuron,
        list(tokens.text order by nearby.rank) as tokens,
    from nearby
    inner join store.models as models on models.model_id = nearby.model_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = nearby.token_id
    group by nearby.model_id, nearby.layer, nearby.neuron
)
select
    facts.model_id,
    facts.layer,
    facts.neuron,
    facts.address,
    facts.depth,
    coalesce(neighbours.tokens, []) as first_tokens,
    facts.n_active::double / nullif(facts.n_positions, 0) as frequency,
    facts.n_active = 0 as never_active,
    facts.n_positions as n_tokens_seen,
    corpora.name as corpus,
from facts
left join neighbours
    on neighbours.model_id = facts.model_id and neighbours.layer = facts.layer and neighbours.neuron = facts.neuron
left join store.corpora as corpora on corpora.corpus_id = facts.corpus_id
