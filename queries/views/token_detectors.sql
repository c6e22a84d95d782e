-- One row per token detector of the model's shown corpus: a neuron that nearly always responds to a handful of tokens.
-- Why: which neurons are dictionaries of few words, and of which. The lists run in parallel, sorted by token id. From:
-- detected_ngrams, whose thresholds say what a detector is. In models without exact zeros a neuron is asked at one pole,
-- that of its largest activation: what it detects at the other is not counted. Source: Voita et al. 2023, section 4; the
-- pole is ours.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   detected_token_ids: Ids of the tokens it detects, sorted.
--   detected_tokens: Their exact texts.
--   recalls: For each, the share of its occurrences at which the neuron was active.
--   recall_lows: For each, the lower end of the recall's Wilson 95% interval.
--   scores: For each, the raw score at the pole: negative where the neuron suppresses the token that triggers it.
--   n_detected: How many tokens it detects.
--   coverage: Fewest tokens that hold 95% of its activations.
--   detected_share: Share of its activations that the detected tokens hold.
--   n_active: Counted positions at which it was active.
--   is_strict: Whether every one of the covering tokens is detected.
--   corpus: The shown corpus.
--   pole: Sign of the coefficients that are counted, which the scores are for (positive, negative): of a gated model; null in others.
with detected as (
    select
        detected_ngrams.model,
        detected_ngrams.model_id,
        detected_ngrams.corpus,
        detected_ngrams.layer,
        detected_ngrams.neuron,
        detected_ngrams.address,
        list_extract(detected_ngrams.token_ids, 1) as token_id,
        detected_ngrams.recall,
        detected_ngrams.recall_low,
        detected_ngrams.score,
        detected_ngrams.n_detected,
        detected_ngrams.coverage,
        detected_ngrams.detected_share,
        detected_ngrams.neuron_active,
        detected_ngrams.is_strict,
        detected_ngrams.pole,
    from detected_ngrams
    where detected_ngrams.n = 1
),
listed as (
    -- Lists over an ordered window: an ordered aggregate would lose its order in Spark.
    select
        detected.model,
        detected.corpus,
        detected.layer,
        detected.neuron,
        detected.address,
        detected.n_detected,
        detected.coverage,
        detected.detected_share,
        detected.neuron_active,
        detected.is_strict,
        detected.pole,
        list(detected.token_id) over neurons as detected_token_ids,
        list(tokens.text) over neurons as detected_tokens,
        list(detected.recall) over neurons as recalls,
        list(detected.recall_low) over neurons as recall_lows,
        list(detected.score) over neurons as scores,
        row_number() over (
            partition by detected.model_id, detected.layer, detected.neuron order by detected.token_id
        ) as place,
    from detected
    inner join store.models as models on models.model_id = detected.model_id
    inner join store.tokens as tokens
        on tokens.tokenizer_id = models.tokenizer_id and tokens.token_id = detected.token_id
    window neurons as (
        partition by detected.model_id, detected.layer, detected.neuron
        order by detected.token_id
        rows between unbounded preceding and unbounded following
    )
)
select
    model,
    layer,
    neuron,
    address,
    detected_token_ids,
    detected_tokens,
    recalls,
    recall_lows,
    scores,
    n_detected,
    coverage,
    detected_share,
    neuron_active as n_active,
    is_strict,
    corpus,
    pole,
from listed
where place = 1
