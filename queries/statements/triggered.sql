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
hits as (
    select
        triggers.model_id,
        triggers.corpus_id,
        triggers.layer,
        triggers.neuron,
        triggers.n,
        asked.word_number,
        asked.text,
        triggers.n_active,
        triggers.n_occurrences,
        triggers.score,
    from store.triggers as triggers
    inner join asked
        on asked.model_id = triggers.model_id and asked.corpus_id = triggers.corpus_id
        and asked.token_ids = triggers.token_ids
    where triggers.n_active > 0 and triggers.layer between asked.first_layer and asked.last_layer
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
        on ngrams.model_id = hits.model_id and ngrams.corpus_id = hits.corpus_id
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
chosen as (
    select model, layer, neuron, address, depth, top_tokens, frequency, corpus, token_status,
    from neurons
    where
        (/* the condition of --where */ true)
)
select
    row_number() over (order by matched.strength desc, models.name, matched.layer, matched.neuron) as place,
    chosen.address,
    chosen.model,
    chosen.layer,
    chosen.neuron,
    chosen.depth,
    matched.n_words,
    matched.strength,
    matched.matched,
    matched.recalls,
    matched.shares,
    matched.matched_active,
    matched.matched_occurrences,
    chosen.top_tokens,
    chosen.frequency,
    chosen.token_status,
    chosen.corpus,
    count(*) over () as n_found,
    matched.model_id,
from matched
inner join store.models as models on models.model_id = matched.model_id
inner join chosen
    on chosen.model = models.name and chosen.layer = matched.layer and chosen.neuron = matched.neuron
qualify place <= $limit
order by place
