-- One row per model, corpus, layer, neuron, band, rank and position: a token of a neuron's context with its activation.
-- Why: what the neuron does at every token, where it is strongest and elsewhere; a condition on address, or on model, layer and neuron, is quick; the whole view is not.
-- From: store.context_windows, store.sequences and store.tokens. Source: this project; quantile is a random sample, without replacement, of the sequences in which the neuron fires (m is not 0), ranked by their largest |m|; random are positions drawn of the whole corpus, the same for every neuron; windows hold up to 40 tokens before the place and 22 after it, of the same sequence.
-- Kinds of rows: band; is_shown, because a model may have several corpora.
-- key: model, corpus_id, layer, neuron, band, rank, position
-- columns:
--   model: Name of the model.
--   corpus: Name of the corpus.
--   corpus_id: Number of the corpus in this file.
--   is_shown: Whether the other views show this corpus for the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   band: Strongest, quantile or random.
--   rank: Number of the window, from 1: by its largest |m|, of random ones as they were drawn.
--   part: Of the band quantile the third of the sample that the window is in: upper, middle or lower; null for others.
--   domain: Domain of the sequence.
--   sequence_id: Sequence of the corpus.
--   position: Position of the token in the sequence, 0-based.
--   is_place: Whether the window is around this token: where the sequence has its largest |m|, or the position drawn.
--   token_id: The token.
--   token: Its exact text.
--   activation: The coefficient m there, right to a 254th of the largest |m| of the window.
with windows as (
    select
        facts.address,
        measured.set_id as model_id,
        measured.corpus_id,
        measured.layer,
        measured.neuron,
        measured.band,
        measured.rank,
        measured.sequence_id,
        measured.position,
        measured.n_before,
        measured.n_after,
        measured.nonzero,
        measured.largest,
        measured.activations,
        count(*) over (
            partition by measured.set_id, measured.corpus_id, measured.layer, measured.neuron, measured.band
        ) as n_windows,
    from store.neuron_facts as facts
    inner join store.context_windows as measured
        on measured.set_id = facts.set_id and measured.layer = facts.layer and measured.neuron = facts.neuron
),
steps as (
    select
        windows.model_id,
        windows.corpus_id,
        windows.layer,
        windows.neuron,
        windows.address,
        windows.band,
        windows.rank,
        windows.n_windows,
        windows.sequence_id,
        windows.position,
        windows.n_before,
        windows.n_after,
        windows.nonzero,
        windows.largest,
        windows.activations,
        sequences.domain,
        sequences.tokens,
        models.tokenizer_id,
        unnest(generate_series(0, 62)) as step,
    from windows
    inner join store.sequences as sequences
        on sequences.corpus_id = windows.corpus_id and sequences.sequence_id = windows.sequence_id
    inner join store.models as models on models.model_id = windows.model_id
),
activations as (
    select
        model_id,
        corpus_id,
        layer,
        neuron,
        address,
        band,
        rank,
        n_windows,
        domain,
        sequence_id,
        tokenizer_id,
        cast(step as integer) = n_before as is_place,
        position - n_before + cast(step as integer) as position,
        list_extract(tokens, position - n_before + cast(step as integer) + 1) as token_id,
        case
            when (nonzero >> cast(step as integer)) & 1 = 1
                then
                    list_extract(
                        activations,
                        bit_count(nonzero & ((cast(1 as bigint) << cast(step as integer)) - 1)) + 1
                    )
            else 0
        end * cast(largest as double) / 127 as activation,
    from steps
    where step <= n_before + n_after
)
select
    measured_corpora.model,
    measured_corpora.corpus,
    activations.corpus_id,
    measured_corpora.is_shown,
    activations.layer,
    activations.neuron,
    activations.address,
    activations.band,
    activations.rank,
    case
        when activations.band <> 'quantile' then null
        when 3 * (activations.rank - 1) < activations.n_windows then 'upper'
        when 3 * (activations.rank - 1) < 2 * activations.n_windows then 'middle'
        else 'lower'
    end as part,
    activations.domain,
    activations.sequence_id,
    activations.position,
    activations.is_place,
    activations.token_id,
    tokens.text as token,
    activations.activation,
from activations
inner join measured_corpora
    on measured_corpora.model_id = activations.model_id and measured_corpora.corpus_id = activations.corpus_id
inner join store.tokens as tokens
    on tokens.tokenizer_id = activations.tokenizer_id and tokens.token_id = activations.token_id
