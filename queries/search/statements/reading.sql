-- Neurons whose keys read the asked tokens, best first, with every reader that lists one of them.
with asked as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($word_numbers::integer[]) as word_number,
        unnest($token_ids::integer[]) as token_id,
        unnest($texts::varchar[]) as text,
        unnest($first_layers::integer[]) as first_layer,
        unnest($last_layers::integer[]) as last_layer,
),
postings as materialized (
    -- See queries/ask/one_query.py.
    /* where tokens are few */
    /* for each token_id */
    select
        set_id as model_id, token_id, reader::varchar as reader, pole::varchar as pole,
        layer, neuron, rank, score, z_score,
    from store.key_postings
    where token_id = $token_id
    /* end */
    /* end of tokens are few */
    /* where tokens are many */
    select
        set_id as model_id, token_id, reader::varchar as reader, pole::varchar as pole,
        layer, neuron, rank, score, z_score,
    from store.key_postings
    where token_id in (select unnest($all_token_ids::integer[]))
    /* end of tokens are many */
),
hits as (
    -- Of a word's spellings the one that a reader likes most counts.
    select
        postings.model_id,
        postings.layer,
        postings.neuron,
        asked.word_number,
        asked.text,
        postings.reader,
        -- The sign of a product is a coefficient's only where the other factor, the open gate, is positive.
        case when postings.reader <> 'gate' then postings.pole end as pole,
        postings.rank,
        postings.score::double as score,
        postings.z_score::double as z_score,
        abs(postings.z_score::double) as strength,
    from postings
    inner join asked on asked.model_id = postings.model_id and asked.token_id = postings.token_id
    where postings.layer between asked.first_layer and asked.last_layer
    qualify row_number() over (
        partition by
            postings.model_id, postings.layer, postings.neuron, asked.word_number, postings.reader
        order by strength desc, postings.rank, postings.pole desc, postings.token_id
    ) = 1
),
words as (
    select model_id, layer, neuron, word_number, max(strength) as strength,
    from hits
    group by model_id, layer, neuron, word_number
),
sums as (
    select model_id, layer, neuron, count(*) as n_words, sum(strength) as z_sum,
    from words
    group by model_id, layer, neuron
    having not $match_all or count(*) = $n_words
),
-- Left out where nothing is asked of the neurons: millions are not looked through.
/* where neurons are chosen */
chosen as (
    select model, layer, neuron,
    from neurons
    where
        (/* the conditions on neurons */ true)
),
/* end of neurons are chosen */
named as (
    select models.name as model, sums.*,
    from sums
    inner join store.models as models on models.model_id = sums.model_id
),
placed as (
    select
        named.model,
        named.model_id,
        named.layer,
        named.neuron,
        named.n_words,
        named.z_sum,
        row_number() over (order by named.z_sum desc, named.model, named.layer, named.neuron) as place,
        count(*) over () as n_found,
    from named
    /* where neurons are chosen */
    inner join chosen on chosen.model = named.model and chosen.layer = named.layer and chosen.neuron = named.neuron
    /* end of neurons are chosen */
    qualify place <= $limit
)
select
    placed.place,
    placed.model,
    placed.model_id,
    placed.layer,
    placed.neuron,
    placed.n_words,
    placed.z_sum,
    list(hits.text order by hits.word_number, hits.strength desc, hits.reader) as matched,
    list(hits.reader order by hits.word_number, hits.strength desc, hits.reader) as matched_readers,
    list(hits.pole order by hits.word_number, hits.strength desc, hits.reader) as matched_poles,
    list(hits.rank order by hits.word_number, hits.strength desc, hits.reader) as matched_ranks,
    list(hits.score order by hits.word_number, hits.strength desc, hits.reader) as matched_scores,
    list(hits.z_score order by hits.word_number, hits.strength desc, hits.reader) as matched_z_scores,
    placed.n_found,
from placed
inner join hits
    on hits.model_id = placed.model_id and hits.layer = placed.layer and hits.neuron = placed.neuron
group by
    placed.place, placed.model, placed.model_id, placed.layer, placed.neuron,
    placed.n_words, placed.z_sum, placed.n_found
order by placed.place
