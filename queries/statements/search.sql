-- The neurons that list the asked tokens, best first, with what matched.
-- A word asked of a model has parts; every part needs one of its tokens, and a part's best token counts.
with asked as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($word_numbers::integer[]) as word_number,
        unnest($part_numbers::integer[]) as part_number,
        unnest($token_ids::integer[]) as token_id,
        unnest($word_sides::varchar[]) as side,
        unnest($first_layers::integer[]) as first_layer,
        unnest($last_layers::integer[]) as last_layer,
),
banned as (
    select
        unnest($banned_model_ids::integer[]) as model_id,
        unnest($banned_token_ids::integer[]) as token_id,
),
shown as (
    select model_id, corpus_id,
    from measured_corpora
    where is_shown
),
counts as (
    select
        shown.model_id,
        token_counts.token_id,
        sum(token_counts.n_occurrences)::bigint as n_occurrences,
    from store.token_counts as token_counts
    inner join shown on shown.corpus_id = token_counts.corpus_id
    where token_counts.token_id in (select token_id from asked)
    group by shown.model_id, token_counts.token_id
),
wanted as (
    select
        asked.model_id,
        asked.word_number,
        asked.part_number,
        asked.token_id,
        asked.side,
        asked.first_layer,
        asked.last_layer,
        case when shown.model_id is not null then coalesce(counts.n_occurrences, 0) end as corpus_count,
    from asked
    left join shown on shown.model_id = asked.model_id
    left join counts on counts.model_id = asked.model_id and counts.token_id = asked.token_id
    where $min_count = 0 or coalesce(counts.n_occurrences, 0) >= $min_count
),
words as (
    select model_id, word_number, count(distinct part_number) as n_parts,
    from asked
    group by model_id, word_number
),
hits as (
    select
        postings.model_id,
        postings.layer,
        postings.neuron,
        wanted.word_number,
        wanted.part_number,
        postings.token_id,
        wanted.corpus_count,
        postings.side,
        postings.rank,
        postings.score::double as score,
        postings.z_score::double as z_score,
        case postings.side when 'promoted' then postings.z_score::double else -postings.z_score::double end as strength,
    from store.postings as postings
    inner join wanted on wanted.model_id = postings.model_id and wanted.token_id = postings.token_id
    where
        wanted.side in ('both', postings.side)
        and postings.layer between wanted.first_layer and wanted.last_layer
),
best as (
    select *,
    from hits
    qualify row_number() over (
        partition by model_id, layer, neuron, word_number, part_number
        order by strength desc, rank, side, token_id
    ) = 1
),
matched_words as (
    select
        best.model_id,
        best.layer,
        best.neuron,
        best.word_number,
        sum(best.strength) as strength,
    from best
    inner join words on words.model_id = best.model_id and words.word_number = best.word_number
    group by best.model_id, best.layer, best.neuron, best.word_number, words.n_parts
    having count(*) = words.n_parts
),
sums as (
    select model_id, layer, neuron, count(*) as n_words, sum(strength) as z_sum,
    from matched_words
    group by model_id, layer, neuron
    -- The words that a concept was widened with come after those that were asked for.
    having not $match_all or count(*) filter (where word_number < $n_words) = $n_words
),
without as (
    select sums.model_id, sums.layer, sums.neuron, sums.n_words, sums.z_sum,
    from sums
    anti join (
        select postings.model_id, postings.layer, postings.neuron,
        from store.postings as postings
        inner join banned on banned.model_id = postings.model_id and banned.token_id = postings.token_id
        where list_contains($sides::varchar[], postings.side)
    ) as unwanted
        on unwanted.model_id = sums.model_id and unwanted.layer = sums.layer and unwanted.neuron = sums.neuron
),
eligible as (
    select
        unnest($eligible_model_ids::integer[]) as model_id,
        unnest($eligible_layers::integer[]) as layer,
        unnest($eligible_neurons::integer[]) as neuron,
),
chosen as (
    select model, layer, neuron,
    from neurons
    where
        (/* the condition of --where */ true)
        -- Millions of neurons are not looked through where nothing is asked of them.
        and $is_filtered
        and (not $alive or n_active > 0)
),
kept as (
    select model_id, layer, neuron, n_words, z_sum,
    from without
    where not $is_filtered
    union all
    select without.model_id, without.layer, without.neuron, without.n_words, without.z_sum,
    from without
    inner join store.models as models on models.model_id = without.model_id
    inner join chosen
        on chosen.model = models.name and chosen.layer = without.layer and chosen.neuron = without.neuron
),
found as materialized (
    select
        kept.model_id,
        models.name as model,
        kept.layer,
        kept.neuron,
        kept.n_words,
        kept.z_sum,
        row_number() over (order by kept.z_sum desc, models.name, kept.layer, kept.neuron) as place,
        count(*) over () as n_found,
    from kept
    inner join store.models as models on models.model_id = kept.model_id
    left join eligible
        on eligible.model_id = kept.model_id and eligible.layer = kept.layer and eligible.neuron = kept.neuron
    where not $is_restricted or eligible.model_id is not null
    qualify place <= $limit
),
facts as (
    select
        facts.model_id,
        facts.layer,
        facts.neuron,
        facts.corpus_id,
        facts.address,
        facts.depth,
        facts.n_active,
        facts.n_positions,
    from store.neuron_facts as facts
    inner join found
        on found.model_id = facts.model_id and found.layer = facts.layer and found.neuron = facts.neuron
),
places as materialized (
    -- Found by its narrow columns first, a row's wide lists are then read alone.
    select projections.rowid as row_number,
    from store.projections as projections
    inner join found
        on found.model_id = projections.model_id and found.layer = projections.layer
        and found.neuron = projections.neuron
),
lists as (
    -- Ids are read a few rows at a time in a seventh of the time that the texts of neuron_facts take.
    select model_id, layer, neuron, top_token_ids[1:10] as top_token_ids, bottom_token_ids[1:10] as bottom_token_ids,
    from store.projections
    where rowid in (select row_number from places)
),
listed as materialized (
    select
        best.model_id,
        best.layer,
        best.neuron,
        list(tokens.text order by best.word_number, best.part_number) as matched,
        list(best.side order by best.word_number, best.part_number) as matched_sides,
        list(best.rank order by best.word_number, best.part_number) as matched_ranks,
        list(best.score order by best.word_number, best.part_number) as matched_scores,
        list(best.z_score order by best.word_number, best.part_number) as matched_z_scores,
        list(best.corpus_count order by best.word_number, best.part_number) as matched_counts,
        -- The neighbours are those on the side of the strongest match.
        arg_max(best.side, best.strength) as side,
    from best
    inner join matched_words
        on matched_words.model_id = best.model_id and matched_words.layer = best.layer
        and matched_words.neuron = best.neuron and matched_words.word_number = best.word_number
    semi join found
        on found.model_id = best.model_id and found.layer = best.layer and found.neuron = best.neuron
    inner join store.models as models on models.model_id = best.model_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = best.token_id
    group by best.model_id, best.layer, best.neuron
),
nearby as (
    select
        lists.model_id,
        lists.layer,
        lists.neuron,
        unnest(case listed.side when 'promoted' then lists.top_token_ids else lists.bottom_token_ids end) as token_id,
        generate_subscripts(
            case listed.side when 'promoted' then lists.top_token_ids else lists.bottom_token_ids end, 1
        ) as rank,
    from lists
    inner join listed
        on listed.model_id = lists.model_id and listed.layer = lists.layer and listed.neuron = lists.neuron
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
    found.place,
    facts.address,
    found.model,
    found.layer,
    found.neuron,
    facts.depth,
    found.n_words,
    found.z_sum,
    listed.side,
    listed.matched,
    listed.matched_sides,
    listed.matched_ranks,
    listed.matched_scores,
    listed.matched_z_scores,
    listed.matched_counts,
    [
        token for token in coalesce(neighbours.tokens, [])
        if not list_contains(listed.matched, token)
    ] as neighbours,
    facts.n_active::double / nullif(facts.n_positions, 0) as frequency,
    facts.n_active = 0 as never_active,
    facts.n_positions as n_tokens_seen,
    corpora.name as corpus,
    found.n_found,
from found
inner join listed
    on listed.model_id = found.model_id and listed.layer = found.layer and listed.neuron = found.neuron
inner join facts
    on facts.model_id = found.model_id and facts.layer = found.layer and facts.neuron = found.neuron
left join neighbours
    on neighbours.model_id = found.model_id and neighbours.layer = found.layer and neighbours.neuron = found.neuron
left join store.corpora as corpora on corpora.corpus_id = facts.corpus_id
order by found.place
