-- One row per model, layer, neuron and pole: how often a neuron is strongest at the tokens that it promotes.
-- Why: whether what a neuron promotes also tells what it reads: of one with a high input score the list of tokens describes
-- its contexts, of others it describes what they do next. It counts the neuron's strongest contexts of that sign (at most
-- ten, one a sequence) whose token at the place of the activation is among the 20 tokens that it promotes there: at a
-- negative pole those that the value vector suppresses. Beside it stands the share that the lists of the layer's other
-- neurons have on the same contexts, each at the pole at which that neuron is strongest, which is what the layer's common
-- tokens make. From: store.pole_contexts, and store.contexts of models without them, on the shown corpus, store.postings and
-- neurons. Source: Arad et al. 2025 (input score); the control is this project's.
-- Kinds of rows: pole.
-- key: model, layer, neuron, pole
-- columns:
--   model: Name of the model.
--   corpus: The shown corpus, on which the contexts were found.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   pole: Sign of the activation: positive or negative.
--   is_strongest: Whether it is the sign of the neuron's largest |m|, the pole of the view neurons: of a model that is not gated, positive.
--   n_contexts: Its strongest contexts of that sign.
--   n_promoted: Those whose token is among the 20 that it promotes at that sign.
--   input_score: n_promoted / n_contexts.
--   other_score: Mean of the same share over the lists of the layer's other neurons, each at its strongest pole; null in a layer of one.
with thresholds as (
    select 20 as listed_tokens,
),
shown as (
    select
        model_id,
        corpus_id,
        model,
        corpus,
    from measured_corpora
    where is_shown
),
with_poles as (
    select distinct set_id, corpus_id,
    from store.pole_contexts
),
places as (
    select set_id, corpus_id, layer, neuron, cast(pole as varchar) as pole, rank, sequence_id, position,
    from store.pole_contexts
    union all
    select
        contexts.set_id,
        contexts.corpus_id,
        contexts.layer,
        contexts.neuron,
        case when contexts.activation < 0 then 'negative' else 'positive' end as pole,
        contexts.rank,
        contexts.sequence_id,
        contexts.position,
    from store.contexts as contexts
    left join with_poles
        on with_poles.set_id = contexts.set_id and with_poles.corpus_id = contexts.corpus_id
    where with_poles.set_id is null
),
peaks as (
    select
        places.set_id,
        places.layer,
        places.neuron,
        places.pole,
        places.rank,
        list_extract(sequences.tokens, places.position + 1) as token_id,
    from places
    inner join shown on shown.model_id = places.set_id and shown.corpus_id = places.corpus_id
    inner join store.sequences as sequences
        on sequences.corpus_id = places.corpus_id and sequences.sequence_id = places.sequence_id
),
lists as (
    select
        postings.set_id,
        postings.layer,
        postings.neuron,
        case when postings.side = 'promoted' then 'positive' else 'negative' end as pole,
        postings.token_id,
    from store.postings as postings
    cross join thresholds
    where postings.rank <= thresholds.listed_tokens
),
strongest as (
    select
        shown.model_id as set_id,
        neurons.layer,
        neurons.neuron,
        coalesce(neurons.pole, 'positive') as pole,
    from neurons
    inner join shown on shown.model = neurons.model
),
strongest_lists as (
    select lists.set_id, lists.layer, lists.neuron, lists.token_id,
    from lists
    inner join strongest
        on strongest.set_id = lists.set_id
        and strongest.layer = lists.layer
        and strongest.neuron = lists.neuron
        and strongest.pole = lists.pole
),
listings as (
    select
        set_id,
        layer,
        token_id,
        count(*) as n_listing,
    from strongest_lists
    group by set_id, layer, token_id
),
judged as (
    select
        peaks.set_id,
        peaks.layer,
        peaks.neuron,
        peaks.pole,
        case when lists.neuron is null then 0 else 1 end as is_promoted,
        coalesce(listings.n_listing, 0) - case when strongest_lists.neuron is null then 0 else 1 end as n_others,
    from peaks
    left join lists
        on lists.set_id = peaks.set_id
        and lists.layer = peaks.layer
        and lists.neuron = peaks.neuron
        and lists.pole = peaks.pole
        and lists.token_id = peaks.token_id
    left join strongest_lists
        on strongest_lists.set_id = peaks.set_id
        and strongest_lists.layer = peaks.layer
        and strongest_lists.neuron = peaks.neuron
        and strongest_lists.token_id = peaks.token_id
    left join listings
        on listings.set_id = peaks.set_id
        and listings.layer = peaks.layer
        and listings.token_id = peaks.token_id
),
summed as (
    select
        set_id,
        layer,
        neuron,
        pole,
        count(*) as n_contexts,
        cast(sum(is_promoted) as bigint) as n_promoted,
        cast(sum(is_promoted) as double) / count(*) as input_score,
        avg(cast(n_others as double)) as n_others,
    from judged
    group by set_id, layer, neuron, pole
)
select
    shown.model,
    shown.corpus,
    summed.layer,
    summed.neuron,
    shown.model || '/L' || cast(summed.layer as varchar) || 'N' || cast(summed.neuron as varchar) as address,
    (cast(summed.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    summed.pole,
    summed.pole = strongest.pole as is_strongest,
    summed.n_contexts,
    summed.n_promoted,
    summed.input_score,
    case when models.d_ffn > 1 then summed.n_others / (models.d_ffn - 1) end as other_score,
from summed
inner join shown on shown.model_id = summed.set_id
inner join strongest
    on strongest.set_id = summed.set_id and strongest.layer = summed.layer and strongest.neuron = summed.neuron
inner join store.models as models on models.model_id = summed.set_id
