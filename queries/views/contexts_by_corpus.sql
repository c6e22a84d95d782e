-- One row per model, corpus, layer, neuron and rank: a place of strongest activation with the text around it.
-- Why: what the neuron reacts to; a condition on address, or on model, layer and neuron, is quick; the whole view is not.
-- From: store.contexts, store.sequences and store.tokens. Source: this project; ranked by |m|, at most one place per sequence.
-- Kinds of rows: is_shown, because a model may have several corpora.
-- key: model, corpus_id, layer, neuron, rank
-- columns:
--   model: Name of the model.
--   corpus: Name of the corpus.
--   corpus_id: Number of the corpus in this file.
--   is_shown: Whether the other views show this corpus for the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   rank: Place by |m|, 1-based.
--   activation: The coefficient m there, sign kept.
--   domain: Domain of the sequence.
--   sequence_id: Sequence of the corpus.
--   position: Position in the sequence, 0-based.
--   before: Text of the twelve tokens before, fewer at the beginning.
--   token: Exact text of the token at the position.
--   after: Text of the six tokens after, fewer at the end.
with places as (
    select
        contexts.set_id as model_id,
        contexts.corpus_id,
        contexts.layer,
        contexts.neuron,
        facts.address,
        contexts.rank,
        contexts.activation,
        contexts.sequence_id,
        contexts.position,
        sequences.domain,
        sequences.tokens,
        models.tokenizer_id,
        unnest(generate_series(-12, 6)) as step,
    from store.neuron_facts as facts
    inner join store.contexts as contexts
        on contexts.set_id = facts.set_id and contexts.layer = facts.layer and contexts.neuron = facts.neuron
    inner join store.sequences as sequences
        on sequences.corpus_id = contexts.corpus_id and sequences.sequence_id = contexts.sequence_id
    inner join store.models as models on models.model_id = contexts.set_id
),
steps as (
    select
        model_id,
        corpus_id,
        layer,
        neuron,
        address,
        rank,
        activation,
        domain,
        sequence_id,
        position,
        tokenizer_id,
        cast(step as integer) as step,
        list_extract(tokens, position + step + 1) as token_id,
    from places
    where position + step >= 0 and position + step < array_length(tokens)
),
lines as (
    select
        steps.model_id,
        steps.corpus_id,
        steps.layer,
        steps.neuron,
        steps.address,
        steps.rank,
        steps.activation,
        steps.domain,
        steps.sequence_id,
        steps.position,
        max(case when steps.step = -12 then tokens.text end) as before_12,
        max(case when steps.step = -11 then tokens.text end) as before_11,
        max(case when steps.step = -10 then tokens.text end) as before_10,
        max(case when steps.step = -9 then tokens.text end) as before_9,
        max(case when steps.step = -8 then tokens.text end) as before_8,
        max(case when steps.step = -7 then tokens.text end) as before_7,
        max(case when steps.step = -6 then tokens.text end) as before_6,
        max(case when steps.step = -5 then tokens.text end) as before_5,
        max(case when steps.step = -4 then tokens.text end) as before_4,
        max(case when steps.step = -3 then tokens.text end) as before_3,
        max(case when steps.step = -2 then tokens.text end) as before_2,
        max(case when steps.step = -1 then tokens.text end) as before_1,
        max(case when steps.step = 0 then tokens.text end) as token,
        max(case when steps.step = 1 then tokens.text end) as after_1,
        max(case when steps.step = 2 then tokens.text end) as after_2,
        max(case when steps.step = 3 then tokens.text end) as after_3,
        max(case when steps.step = 4 then tokens.text end) as after_4,
        max(case when steps.step = 5 then tokens.text end) as after_5,
        max(case when steps.step = 6 then tokens.text end) as after_6,
    from steps
    inner join store.tokens as tokens
        on tokens.tokenizer_id = steps.tokenizer_id and tokens.token_id = steps.token_id
    group by
        steps.model_id,
        steps.corpus_id,
        steps.layer,
        steps.neuron,
        steps.address,
        steps.rank,
        steps.activation,
        steps.domain,
        steps.sequence_id,
        steps.position
)
select
    measured_corpora.model,
    measured_corpora.corpus,
    lines.corpus_id,
    measured_corpora.is_shown,
    lines.layer,
    lines.neuron,
    lines.address,
    lines.rank,
    cast(lines.activation as double) as activation,
    lines.domain,
    lines.sequence_id,
    lines.position,
    concat_ws(
        '',
        before_12, before_11, before_10, before_9, before_8, before_7,
        before_6, before_5, before_4, before_3, before_2, before_1
    ) as before,
    lines.token,
    concat_ws('', after_1, after_2, after_3, after_4, after_5, after_6) as after,
from lines
inner join measured_corpora
    on measured_corpora.model_id = lines.model_id and measured_corpora.corpus_id = lines.corpus_id
