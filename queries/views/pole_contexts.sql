-- One row per model, layer, neuron, pole and rank: a place of strongest activation of that sign in the shown corpus.
-- Why: contexts_text ranks by |m|, so that a pole may have none of its ten places; here both have theirs.
-- From: store.pole_contexts, store.sequences and store.tokens. Source: this project; ranked by |m|, at most one place a sequence and pole.
-- Kinds of rows: pole.
-- key: model, layer, neuron, pole, rank
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   pole: Sign of the coefficient: positive or negative.
--   rank: Place by |m| within the pole, 1-based.
--   activation: The coefficient m there, sign kept.
--   domain: Domain of the sequence.
--   sequence_id: Sequence of the corpus.
--   position: Position in the sequence, 0-based.
--   token: Exact text of the token at the position.
--   corpus: The shown corpus.
select
    models.name as model,
    facts.layer,
    facts.neuron,
    facts.address,
    cast(contexts.pole as varchar) as pole,
    contexts.rank,
    cast(contexts.activation as double) as activation,
    sequences.domain,
    contexts.sequence_id,
    contexts.position,
    tokens.text as token,
    corpora.name as corpus,
from store.neuron_facts as facts
inner join store.pole_contexts as contexts
    on
        contexts.set_id = facts.set_id
        and contexts.corpus_id = facts.corpus_id
        and contexts.layer = facts.layer
        and contexts.neuron = facts.neuron
inner join store.sequences as sequences
    on sequences.corpus_id = contexts.corpus_id and sequences.sequence_id = contexts.sequence_id
inner join store.models as models on models.model_id = facts.set_id
inner join store.corpora as corpora on corpora.corpus_id = facts.corpus_id
left join store.tokens as tokens
    on
        tokens.tokenizer_id = models.tokenizer_id
        and tokens.token_id = list_extract(sequences.tokens, contexts.position + 1)
