-- One row per detector of bigrams or trigrams and n-gram that it detects, on the model's shown corpus.
-- Why: which neurons respond to a phrase rather than a token. From: detected_ngrams, whose thresholds say what a detector
-- is; lengths that the corpus is too small for have no rows, see detectors_by_layer. Source: Voita et al. 2023, appendix.
-- Kinds of rows: n.
-- key: model, n, layer, neuron, rank
-- columns:
--   model: Name of the model.
--   n: Length of the n-gram: 2 or 3.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   rank: Place of the n-gram among the neuron's triggers, 1-based.
--   token_ids: Ids of the n-gram, in the order of the text.
--   text: Exact text of the n-gram.
--   n_active: Positions at which it ends and the neuron was active.
--   n_occurrences: Positions at which it ends.
--   recall: n_active / n_occurrences.
--   recall_low: Lower end of the recall's Wilson 95% interval.
--   n_detected: N-grams that the neuron detects.
--   coverage: Fewest n-grams that hold 95% of the neuron's activations.
--   detected_share: Share of its activations that the detected n-grams hold.
--   is_strict: Whether every one of the covering n-grams is detected.
--   corpus: The shown corpus.
--   pole: Sign of the coefficients that are counted (positive, negative): of a gated model; null in others.
select
    detected_ngrams.model,
    detected_ngrams.n,
    detected_ngrams.layer,
    detected_ngrams.neuron,
    detected_ngrams.address,
    detected_ngrams.rank,
    detected_ngrams.token_ids,
    concat_ws('', first_tokens.text, second_tokens.text, third_tokens.text) as text,
    detected_ngrams.n_active,
    detected_ngrams.n_occurrences,
    detected_ngrams.recall,
    detected_ngrams.recall_low,
    detected_ngrams.n_detected,
    detected_ngrams.coverage,
    detected_ngrams.detected_share,
    detected_ngrams.is_strict,
    detected_ngrams.corpus,
    detected_ngrams.pole,
from detected_ngrams
inner join store.models as models on models.model_id = detected_ngrams.model_id
inner join store.tokens as first_tokens
    on first_tokens.tokenizer_id = models.tokenizer_id
    and first_tokens.token_id = list_extract(detected_ngrams.token_ids, 1)
inner join store.tokens as second_tokens
    on second_tokens.tokenizer_id = models.tokenizer_id
    and second_tokens.token_id = list_extract(detected_ngrams.token_ids, 2)
left join store.tokens as third_tokens
    on third_tokens.tokenizer_id = models.tokenizer_id
    and third_tokens.token_id
    = case when detected_ngrams.n = 3 then list_extract(detected_ngrams.token_ids, 3) end
where detected_ngrams.n > 1
