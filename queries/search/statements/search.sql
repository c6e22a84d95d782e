-- The neurons that list the asked tokens, best first, with what matched; search_facts says more about those found.
-- A word has parts in a model's vocabulary; every part needs one of its tokens, and a part's best token counts.
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
postings as materialized (
    -- See queries/ask/one_query.py.
    /* where tokens are few */
    /* for each token_id */
    select set_id as model_id, token_id, side::varchar as side, layer, neuron, rank, score, z_score,
    from store.postings
    where token_id = $token_id and set_id between $first_model and $last_model
    /* end */
    /* end of tokens are few */
    /* where tokens are many */
    select set_id as model_id, token_id, side::varchar as side, layer, neuron, rank, score, z_score,
    from store.postings
    where
        token_id in (select unnest($all_token_ids::integer[]))
        and set_id between $first_model and $last_model
    /* end of tokens are many */
),
-- At its negative pole a neuron of a signed model writes its lists the other way round.
poles as (
    select model_id, token_id, 1 as pole, side, layer, neuron, rank, score, z_score,
    from postings
    union all
    select
        model_id,
        token_id,
        -1 as pole,
        case side when 'promoted' then 'suppressed' else 'promoted' end as side,
        layer,
        neuron,
        rank,
        -score as score,
        -z_score as z_score,
    from postings
    where list_contains($signed_models::integer[], model_id)
),
words as (
    select model_id, word_number, count(distinct part_number) as n_parts,
    from asked
    group by model_id, word_number
),
hits as (
    select
        poles.model_id,
        poles.layer,
        poles.neuron,
        poles.pole,
        wanted.word_number,
        wanted.part_number,
        poles.token_id,
        wanted.corpus_count,
        poles.side,
        poles.rank,
        poles.score::double as score,
        poles.z_score::double as z_score,
        case poles.side when 'promoted' then poles.z_score::double else -poles.z_score::double end as strength,
    from poles
    inner join wanted on wanted.model_id = poles.model_id and wanted.token_id = poles.token_id
    where
        wanted.side in ('both', poles.side)
        and poles.layer between wanted.first_layer and wanted.last_layer
),
strengths as (
    select
        model_id,
        layer,
        neuron,
        pole,
        word_number,
        part_number,
        max(strength) as strength,
        max(strength) filter (where side = 'promoted') as promotion,
    from hits
    group by model_id, layer, neuron, pole, word_number, part_number
),
matched_words as (
    select
        strengths.model_id,
        strengths.layer,
        strengths.neuron,
        strengths.pole,
        strengths.word_number,
        sum(strengths.strength) as strength,
        max(strengths.promotion) as promotion,
    from strengths
    inner join words on words.model_id = strengths.model_id and words.word_number = strengths.word_number
    group by
        strengths.model_id, strengths.layer, strengths.neuron, strengths.pole, strengths.word_number, words.n_parts
    having count(*) = words.n_parts
),
sums as (
    select
        model_id,
        layer,
        neuron,
        pole,
        count(*) as n_words,
        sum(strength) as z_sum,
        max(promotion) as promotion,
    from matched_words
    group by model_id, layer, neuron, pole
    having
        count(*) filter (where list_contains($needed_words::integer[], word_number)) = len($needed_words::integer[])
        -- Beside words that must be suppressed, one that is promoted: of those asked for, or of those it was widened with.
        and (not $is_another_needed or count(*) > len($needed_words::integer[]))
),
without as (
    select sums.model_id, sums.layer, sums.neuron, sums.pole, sums.n_words, sums.z_sum,
    from sums
    anti join (
        select poles.model_id, poles.layer, poles.neuron, poles.pole,
        from poles
        inner join banned on banned.model_id = poles.model_id and banned.token_id = poles.token_id
        where list_contains($sides::varchar[], poles.side)
    ) as unwanted
        on unwanted.model_id = sums.model_id and unwanted.layer = sums.layer
        and unwanted.neuron = sums.neuron and unwanted.pole = sums.pole
    -- A neuron is listed once, at its better pole; of equal ones, where either side is asked, at the one that promotes.
    qualify row_number() over (
        partition by sums.model_id, sums.layer, sums.neuron
        order by sums.z_sum desc, sums.promotion desc nulls last, sums.pole desc
    ) = 1
),
eligible as (
    select
        unnest($eligible_model_ids::integer[]) as model_id,
        unnest($eligible_layers::integer[]) as layer,
        unnest($eligible_neurons::integer[]) as neuron,
),
-- Left out where nothing is asked of the neurons: millions are not looked through, and the view is not planned.
/* where neurons are chosen */
chosen as (
    select model, layer, neuron,
    from neurons
    where
        (/* the conditions on neurons */ true)
),
/* end of neurons are chosen */
kept as (
    select without.model_id, without.layer, without.neuron, without.pole, without.n_words, without.z_sum,
    from without
    /* where neurons are chosen */
    inner join store.models as models on models.model_id = without.model_id
    inner join chosen
        on chosen.model = models.name and chosen.layer = without.layer and chosen.neuron = without.neuron
    /* end of neurons are chosen */
),
found as materialized (
    select
        kept.model_id,
        models.name as model,
        kept.layer,
        kept.neuron,
        kept.pole,
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
best as (
    select hits.*,
    from hits
    semi join found
        on found.model_id = hits.model_id and found.layer = hits.layer
        and found.neuron = hits.neuron and found.pole = hits.pole
    inner join matched_words
        on matched_words.model_id = hits.model_id and matched_words.layer = hits.layer
        and matched_words.neuron = hits.neuron and matched_words.pole = hits.pole
        and matched_words.word_number = hits.word_number
    qualify row_number() over (
        partition by hits.model_id, hits.layer, hits.neuron, hits.word_number, hits.part_number
        order by hits.strength desc, hits.rank, hits.side, hits.token_id
    ) = 1
),
listed as (
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
    inner join store.models as models on models.model_id = best.model_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = best.token_id
    group by best.model_id, best.layer, best.neuron
)
select
    found.place,
    found.model_id,
    found.model,
    found.layer,
    found.neuron,
    case
        when list_contains($signed_models::integer[], found.model_id)
            then case found.pole when 1 then 'positive' else 'negative' end
    end as pole,
    found.n_words,
    found.z_sum,
    listed.side,
    listed.matched,
    listed.matched_sides,
    listed.matched_ranks,
    listed.matched_scores,
    listed.matched_z_scores,
    listed.matched_counts,
    found.n_found,
from found
inner join listed
    on listed.model_id = found.model_id and listed.layer = found.layer and listed.neuron = found.neuron
order by found.place
