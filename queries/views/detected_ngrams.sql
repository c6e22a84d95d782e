-- One row per detector and n-gram that it detects, on the model's shown corpus.
-- Why: the one place where a neuron becomes a detector: token_detectors, ngram_detectors, detected_by_layer and
-- suppression read it. A neuron that fires often enough detects when few n-grams cover it, and the n-grams on which it
-- fires nearly always hold nearly all of its activations. From: store.ngrams, store.triggers and corpus_ngrams. Source:
-- Voita et al. 2023, section 4 and appendix; the least number of activations and of occurrences is ours. The recall can
-- be moved down to half, and the coverage up to 64: the store keeps what that needs.
-- key: model, n, layer, neuron, rank
-- columns:
--   model: Name of the model.
--   model_id: Number of the model in this file.
--   n: Length of the n-gram.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   rank: Place of the n-gram among the neuron's triggers, 1-based.
--   token_ids: Ids of the n-gram.
--   n_active: Positions at which it ends and the neuron was active.
--   n_occurrences: Positions at which it ends.
--   recall: n_active / n_occurrences.
--   recall_low: Lower end of the recall's Wilson 95% interval.
--   coverage: Fewest n-grams that hold 95% of the neuron's activations.
--   neuron_active: Activations of the neuron where a full n-gram ends.
--   n_detected: N-grams that the neuron detects.
--   detected_share: Share of its activations that these hold together.
--   is_strict: Whether every one of the covering n-grams is detected.
--   score: Raw score of the token; null for longer n-grams, like the other scores.
--   z_score: The score in standard deviations above the mean of the neuron's scores.
--   score_centred: The score minus that mean.
--   rank_from_bottom: 1 is the most suppressed token of the vocabulary.
--   control_scores: Raw scores of 100 tokens as frequent in the corpus.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(100 as bigint) as min_activations,
        cast(5 as bigint) as most_tokens,
        cast(50 as bigint) as most_ngrams,
        cast(0.95 as double) as least_recall,
        cast(0.95 as double) as least_share,
        cast(1.959963984540054 as double) as normal_975,
),
candidates as (
    select
        ngrams.model_id,
        ngrams.corpus_id,
        ngrams.layer,
        ngrams.neuron,
        ngrams.n,
        ngrams.n_active,
        ngrams.n_covering_95,
        corpus_ngrams.model,
        corpus_ngrams.corpus,
        corpus_ngrams.min_occurrences,
    from store.ngrams as ngrams
    inner join corpus_ngrams
        on corpus_ngrams.model_id = ngrams.model_id
        and corpus_ngrams.corpus_id = ngrams.corpus_id
        and corpus_ngrams.n = ngrams.n
    cross join thresholds
    where corpus_ngrams.can_be_labelled
        and ngrams.n_active >= thresholds.min_activations
        and ngrams.n_covering_95 <= case when ngrams.n = 1 then thresholds.most_tokens else thresholds.most_ngrams end
),
recalls as (
    select
        candidates.model_id,
        candidates.model,
        candidates.corpus,
        candidates.layer,
        candidates.neuron,
        candidates.n,
        candidates.n_active as neuron_active,
        candidates.n_covering_95,
        triggers.rank,
        triggers.token_ids,
        triggers.n_active,
        triggers.n_occurrences,
        cast(triggers.n_active as double) / triggers.n_occurrences as recall,
        triggers.score,
        triggers.z_score,
        triggers.score_centred,
        triggers.rank_from_bottom,
        triggers.control_scores,
    from candidates
    inner join store.triggers as triggers
        on triggers.model_id = candidates.model_id
        and triggers.corpus_id = candidates.corpus_id
        and triggers.layer = candidates.layer
        and triggers.neuron = candidates.neuron
        and triggers.n = candidates.n
    where triggers.n_occurrences >= candidates.min_occurrences
),
covered as (
    select
        recalls.model_id,
        recalls.model,
        recalls.corpus,
        recalls.layer,
        recalls.neuron,
        recalls.n,
        recalls.neuron_active,
        recalls.n_covering_95,
        recalls.rank,
        recalls.token_ids,
        recalls.n_active,
        recalls.n_occurrences,
        recalls.recall,
        recalls.score,
        recalls.z_score,
        recalls.score_centred,
        recalls.rank_from_bottom,
        recalls.control_scores,
        thresholds.least_share,
        (
            recalls.recall + power(thresholds.normal_975, 2) / (2 * recalls.n_occurrences)
            - thresholds.normal_975
            * sqrt(
                recalls.recall * (1 - recalls.recall) / recalls.n_occurrences
                + power(thresholds.normal_975, 2) / (4 * power(recalls.n_occurrences, 2))
            )
        )
        / (1 + power(thresholds.normal_975, 2) / recalls.n_occurrences) as recall_low,
        count(*) over neurons as n_detected,
        cast(sum(recalls.n_active) over neurons as double) / recalls.neuron_active as detected_share,
        sum(case when recalls.rank <= recalls.n_covering_95 then 1 else 0 end) over neurons as n_covering_detected,
    from recalls
    cross join thresholds
    where recalls.recall >= thresholds.least_recall
    window neurons as (partition by recalls.model_id, recalls.n, recalls.layer, recalls.neuron)
)
select
    model,
    model_id,
    n,
    layer,
    neuron,
    model || '/L' || cast(layer as varchar) || 'N' || cast(neuron as varchar) as address,
    rank,
    token_ids,
    n_active,
    n_occurrences,
    recall,
    recall_low,
    n_covering_95 as coverage,
    neuron_active,
    n_detected,
    detected_share,
    n_covering_detected = n_covering_95 as is_strict,
    cast(score as double) as score,
    cast(z_score as double) as z_score,
    cast(score_centred as double) as score_centred,
    rank_from_bottom,
    control_scores,
    corpus,
from covered
where detected_share >= least_share
