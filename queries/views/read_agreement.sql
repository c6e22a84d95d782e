-- One row per model, layer, neuron and reader: how often the tokens that a neuron reads are the tokens that trigger it.
-- Why: a key is compared with the stream; whether the embeddings that it likes most, which need no text, tell what the
-- neuron fires on is an open question, and this is its answer. It counts the neuron's strongest contexts (at most ten,
-- one a sequence) whose token at the place of the activation is among the k tokens that the reader likes most: k as many
-- as are stored, 50 unless the vocabulary is smaller. Of up, whose sign is a convention, contexts of negative
-- activations are compared with the other end of its scores. Beside it stand two controls on the same contexts: lists of
-- random keys like those of the layer, and lists of the layer's other neurons, which have in common what all keys of the
-- layer like; of their ups both ends count, a half each. Caveat: above the first layers the stream is no longer an embedding, positions and attention are added
-- before any FFN, and the norm's divisor, mean and bias are left out. From: store.contexts of the shown corpus,
-- store.key_projections, store.key_postings, store.key_controls. Source: ours.
-- Kinds of rows: reader.
-- key: model, layer, neuron, reader
-- columns:
--   model: Name of the model.
--   corpus: The shown corpus, on which the contexts were found.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   reader: key; in a gated model gate and up.
--   n_contexts: Its strongest contexts.
--   n_read: Those whose token is among the tokens that the reader likes most.
--   read_share: n_read / n_contexts.
--   random_share: Mean of the same share over the layer's random keys.
--   other_share: Mean of the same share over the lists of the layer's other neurons; null in a layer of one.
with shown as (
    select
        model_id,
        corpus_id,
        model,
        corpus,
    from measured_corpora
    where is_shown
),
widths as (
    select
        set_id,
        layer,
        reader,
        count(*) as n_neurons,
    from store.key_projections
    group by set_id, layer, reader
),
drawn as (
    select
        model_id,
        layer,
        reader,
        count(*) as n_drawn,
    from store.key_controls
    group by model_id, layer, reader
),
places as (
    select
        contexts.set_id,
        contexts.layer,
        contexts.neuron,
        widths.reader,
        widths.n_neurons,
        contexts.rank,
        list_extract(sequences.tokens, contexts.position + 1) as token_id,
        case when widths.reader = 'up' and contexts.activation < 0 then 1 else 0 end as is_negative,
    from store.contexts as contexts
    inner join shown on shown.model_id = contexts.set_id and shown.corpus_id = contexts.corpus_id
    inner join store.sequences as sequences
        on sequences.corpus_id = contexts.corpus_id and sequences.sequence_id = contexts.sequence_id
    inner join widths on widths.set_id = contexts.set_id and widths.layer = contexts.layer
),
asked as (
    select distinct
        set_id,
        layer,
        reader,
        token_id,
    from places
),
postings as (
    select
        set_id,
        layer,
        neuron,
        reader,
        token_id,
        case when pole = 'negative' then 1 else 0 end as is_negative,
    from store.key_postings
),
lists as (
    select
        set_id,
        layer,
        reader,
        token_id,
        1 as is_neuron,
    from store.key_postings
    union all
    select
        model_id as set_id,
        layer,
        reader,
        unnest(top_token_ids) as token_id,
        0 as is_neuron,
    from store.key_controls
    union all
    select
        model_id as set_id,
        layer,
        reader,
        unnest(bottom_token_ids) as token_id,
        0 as is_neuron,
    from store.key_controls
    where reader = 'up'
),
listings as (
    -- Of up at both poles: which of its ends is which is a convention.
    select
        asked.set_id,
        asked.layer,
        asked.reader,
        asked.token_id,
        sum(lists.is_neuron) as n_listing,
        sum(1 - lists.is_neuron) as n_drawn_listing,
    from asked
    inner join lists
        on lists.set_id = asked.set_id
        and lists.layer = asked.layer
        and lists.reader = asked.reader
        and lists.token_id = asked.token_id
    group by asked.set_id, asked.layer, asked.reader, asked.token_id
),
own_listings as (
    select
        places.set_id,
        places.layer,
        places.neuron,
        places.reader,
        places.rank,
        count(*) as n_listing,
        max(case when postings.is_negative = places.is_negative then 1 else 0 end) as is_read,
    from places
    inner join postings
        on postings.set_id = places.set_id
        and postings.layer = places.layer
        and postings.neuron = places.neuron
        and postings.reader = places.reader
        and postings.token_id = places.token_id
    group by places.set_id, places.layer, places.neuron, places.reader, places.rank
),
judged as (
    select
        places.set_id,
        places.layer,
        places.neuron,
        places.reader,
        places.n_neurons,
        case when places.reader = 'up' then 2 else 1 end as n_ends,
        coalesce(own_listings.is_read, 0) as is_read,
        cast(coalesce(listings.n_listing, 0) - coalesce(own_listings.n_listing, 0) as double) as n_listing,
        cast(coalesce(listings.n_drawn_listing, 0) as double) / drawn.n_drawn as n_drawn_listing,
    from places
    inner join drawn
        on drawn.model_id = places.set_id and drawn.layer = places.layer and drawn.reader = places.reader
    left join own_listings
        on own_listings.set_id = places.set_id
        and own_listings.layer = places.layer
        and own_listings.neuron = places.neuron
        and own_listings.reader = places.reader
        and own_listings.rank = places.rank
    left join listings
        on listings.set_id = places.set_id
        and listings.layer = places.layer
        and listings.reader = places.reader
        and listings.token_id = places.token_id
),
summed as (
    select
        set_id,
        layer,
        neuron,
        reader,
        count(*) as n_contexts,
        cast(sum(is_read) as bigint) as n_read,
        cast(sum(is_read) as double) / count(*) as read_share,
        avg(n_drawn_listing / n_ends) as random_share,
        avg(case when n_neurons > 1 then n_listing / n_ends / (n_neurons - 1) end) as other_share,
    from judged
    group by set_id, layer, neuron, reader
)
select
    shown.model,
    shown.corpus,
    summed.layer,
    summed.neuron,
    shown.model || '/L' || cast(summed.layer as varchar) || 'N' || cast(summed.neuron as varchar) as address,
    (cast(summed.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    cast(summed.reader as varchar) as reader,
    summed.n_contexts,
    summed.n_read,
    summed.read_share,
    summed.random_share,
    summed.other_share,
from summed
inner join shown on shown.model_id = summed.set_id
inner join store.models as models on models.model_id = summed.set_id
