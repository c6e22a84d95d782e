-- One row per detector and n-gram that it detects, on the model's shown corpus.
-- Why: the one place where a neuron becomes a detector: token_detectors, ngram_detectors, detected_by_layer and
-- suppression read it. A neuron that fires often enough is a detector if few n-grams cover it and the n-grams on which it
-- nearly always fires hold nearly all of its activations. The paper's models have exact zeros; in others activations are
-- the strong ones at the pole at which the neuron is strongest (ours), see the definitions. From: store.ngrams, store.triggers, store.activity and corpus_ngrams. Source:
-- Voita et al. 2023, section 4 and appendix; the least number of activations and of occurrences is ours. The recall can
-- be moved down to half, and the coverage up to 64: the store keeps what that needs.
-- Kinds of rows: n.
-- key: model, n, layer, neuron, rank
-- kept: triggers
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
--   score: Raw score of the token at the pole; null for longer n-grams, like the other scores.
--   z_score: The score in standard deviations above the mean of the neuron's scores.
--   score_centred: The score minus that mean.
--   rank_from_bottom: 1 is the token of the vocabulary that is most suppressed at the pole.
--   control_scores: Raw scores of 100 tokens as frequent in the corpus, of the value vector itself: at the negative pole their signs turn.
--   corpus: The shown corpus.
--   pole: Sign of the coefficients that are counted, which all scores are for (positive, negative): of a gated model; null in others, and where the job activity did not read the corpus.
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
        ngrams.set_id as model_id,
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
        on corpus_ngrams.model_id = ngrams.set_id
        and corpus_ngrams.corpus_id = ngrams.corpus_id
        and corpus_ngrams.n = ngrams.n
    cross join thresholds
    where corpus_ngrams.can_be_labelled
        and ngrams.n_active >= thresholds.min_activations
        and ngrams.n_covering_95 <= case when ngrams.n = 1 then thresholds.most_tokens else thresholds.most_ngrams end
),
held as (
    -- Narrow columns tell which candidates are detectors: few are, and only theirs are read in full below.
    select
        candidates.model_id,
        candidates.corpus_id,
        candidates.layer,
        candidates.neuron,
        candidates.n,
        count(*) as n_detected,
        sum(triggers.n_active) as n_active,
        sum(case when triggers.rank <= candidates.n_covering_95 then 1 else 0 end) as n_covering,
    from candidates
    inner join store.triggers as triggers
        on triggers.set_id = candidates.model_id
        and triggers.corpus_id = candidates.corpus_id
        and triggers.layer = candidates.layer
        and triggers.neuron = candidates.neuron
        and triggers.n = candidates.n
    cross join thresholds
    where
        triggers.n_occurrences >= candidates.min_occurrences
        and cast(triggers.n_active as double) / triggers.n_occurrences >= thresholds.least_recall
    group by candidates.model_id, candidates.corpus_id, candidates.layer, candidates.neuron, candidates.n
),
detectors as (
    select
        candidates.model_id,
        candidates.corpus_id,
        candidates.model,
        candidates.corpus,
        candidates.layer,
        candidates.neuron,
        candidates.n,
        candidates.n_active as neuron_active,
        candidates.n_covering_95,
        candidates.min_occurrences,
        held.n_detected,
        cast(held.n_active as double) / candidates.n_active as detected_share,
        held.n_covering = candidates.n_covering_95 as is_strict,
    from held
    inner join candidates
        on candidates.model_id = held.model_id
        and candidates.corpus_id = held.corpus_id
        and candidates.layer = held.layer
        and candidates.neuron = held.neuron
        and candidates.n = held.n
    cross join thresholds
    where cast(held.n_active as double) / candidates.n_active >= thresholds.least_share
),
poles as (
    -- Of a gated neuron that of its largest coefficient.
    select
        detectors.model_id,
        detectors.layer,
        detectors.neuron,
        case when max(activity.activation_max) + min(activity.activation_min) < 0 then -1 else 1 end as pole,
    from detectors
    inner join store.models as models on models.model_id = detectors.model_id
    inner join store.activity as activity
        on activity.set_id = detectors.model_id
        and activity.corpus_id = detectors.corpus_id
        and activity.layer = detectors.layer
        and activity.neuron = detectors.neuron
    where models.activation_rule = 'gate > 0'
    group by detectors.model_id, detectors.layer, detectors.neuron
),
vocabularies as (
    select
        models.model_id,
        count(*) as n_tokens,
    from store.models as models
    inner join store.tokens as tokens on tokens.tokenizer_id = models.tokenizer_id
    group by models.model_id
),
recalls as (
    select
        detectors.model_id,
        detectors.model,
        detectors.corpus,
        detectors.layer,
        detectors.neuron,
        detectors.n,
        detectors.neuron_active,
        detectors.n_covering_95,
        detectors.n_detected,
        detectors.detected_share,
        detectors.is_strict,
        triggers.rank,
        triggers.token_ids,
        triggers.n_active,
        triggers.n_occurrences,
        cast(triggers.n_active as double) / triggers.n_occurrences as recall,
        poles.pole,
        coalesce(poles.pole, 1) * triggers.score as score,
        coalesce(poles.pole, 1) * triggers.z_score as z_score,
        coalesce(poles.pole, 1) * triggers.score_centred as score_centred,
        case
            when poles.pole = -1 then vocabularies.n_tokens + 1 - triggers.rank_from_bottom
            else triggers.rank_from_bottom
        end as rank_from_bottom,
        triggers.control_scores,
    from detectors
    inner join vocabularies on vocabularies.model_id = detectors.model_id
    left join poles
        on poles.model_id = detectors.model_id
        and poles.layer = detectors.layer
        and poles.neuron = detectors.neuron
    inner join store.triggers as triggers
        on triggers.set_id = detectors.model_id
        and triggers.corpus_id = detectors.corpus_id
        and triggers.layer = detectors.layer
        and triggers.neuron = detectors.neuron
        and triggers.n = detectors.n
    where triggers.n_occurrences >= detectors.min_occurrences
)
select
    recalls.model,
    recalls.model_id,
    recalls.n,
    recalls.layer,
    recalls.neuron,
    recalls.model || '/L' || cast(recalls.layer as varchar) || 'N' || cast(recalls.neuron as varchar) as address,
    recalls.rank,
    recalls.token_ids,
    recalls.n_active,
    recalls.n_occurrences,
    recalls.recall,
    (
        recalls.recall + power(thresholds.normal_975, 2) / (2 * recalls.n_occurrences)
        - thresholds.normal_975
        * sqrt(
            recalls.recall * (1 - recalls.recall) / recalls.n_occurrences
            + power(thresholds.normal_975, 2) / (4 * power(recalls.n_occurrences, 2))
        )
    )
    / (1 + power(thresholds.normal_975, 2) / recalls.n_occurrences) as recall_low,
    recalls.n_covering_95 as coverage,
    recalls.neuron_active,
    recalls.n_detected,
    recalls.detected_share,
    recalls.is_strict,
    cast(recalls.score as double) as score,
    cast(recalls.z_score as double) as z_score,
    cast(recalls.score_centred as double) as score_centred,
    cast(recalls.rank_from_bottom as integer) as rank_from_bottom,
    recalls.control_scores,
    recalls.corpus,
    case recalls.pole when 1 then 'positive' when -1 then 'negative' end as pole,
from recalls
cross join thresholds
where recalls.recall >= thresholds.least_recall
