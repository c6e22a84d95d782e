-- Neurons that list the asked n-grams among their triggers, with recall and share of each word asked for.
with asked as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($corpus_ids::integer[]) as corpus_id,
        unnest($word_numbers::integer[]) as word_number,
        unnest($ngrams::integer[][]) as token_ids,
        unnest($texts::varchar[]) as text,
        unnest($first_layers::integer[]) as first_layer,
        unnest($last_layers::integer[]) as last_layer,
),
begun as materialized (
    -- The first id alone tells most apart, in half the time of comparing lists with those asked for.
    select set_id as model_id, corpus_id, layer, neuron, n, token_ids, n_active, n_occurrences,
    from store.triggers
    where list_contains($first_ids::integer[], token_ids[1]) and n_active > 0
),
hits as (
    select
        begun.model_id,
        begun.corpus_id,
        begun.layer,
        begun.neuron,
        begun.n,
        asked.word_number,
        asked.text,
        begun.n_active,
        begun.n_occurrences,
    from begun
    inner join asked
        on asked.model_id = begun.model_id and asked.corpus_id = begun.corpus_id and asked.token_ids = begun.token_ids
    where begun.layer between asked.first_layer and asked.last_layer
),
words as (
    -- A word's spellings count together.
    select
        hits.model_id,
        hits.layer,
        hits.neuron,
        hits.word_number,
        list(hits.text order by hits.n_active desc, hits.text) as texts,
        sum(hits.n_active)::bigint as n_active,
        sum(hits.n_occurrences)::bigint as n_occurrences,
        sum(hits.n_active)::double / sum(hits.n_occurrences) as recall,
        sum(hits.n_active)::double / any_value(ngrams.n_active) as share,
    from hits
    inner join store.ngrams as ngrams
        on ngrams.set_id = hits.model_id and ngrams.corpus_id = hits.corpus_id
        and ngrams.layer = hits.layer and ngrams.neuron = hits.neuron and ngrams.n = hits.n
    group by hits.model_id, hits.layer, hits.neuron, hits.word_number
),
matched as (
    select
        model_id,
        layer,
        neuron,
        count(*) as n_words,
        sum(2 * recall * share / (recall + share)) as strength,
        flatten(list(texts order by word_number)) as matched,
        list(recall order by word_number) as recalls,
        list(share order by word_number) as shares,
        list(n_active order by word_number) as matched_active,
        list(n_occurrences order by word_number) as matched_occurrences,
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
    select models.name as model, matched.*,
    from matched
    inner join store.models as models on models.model_id = matched.model_id
)
select
    row_number() over (order by named.strength desc, named.model, named.layer, named.neuron) as place,
    named.model,
    named.model_id,
    named.layer,
    named.neuron,
    named.n_words,
    named.strength,
    named.matched,
    named.recalls,
    named.shares,
    named.matched_active,
    named.matched_occurrences,
    count(*) over () as n_found,
from named
/* where neurons are chosen */
inner join chosen on chosen.model = named.model and chosen.layer = named.layer and chosen.neuron = named.neuron
/* end of neurons are chosen */
qualify place <= $limit
order by place
