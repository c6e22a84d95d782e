-- One row per token detector of the model's shown corpus: whether it suppresses the tokens that trigger it.
-- Why: detectors often suppress the very token they fire on, but raw scores are negative for much of the vocabulary
-- anyway: each row also has the share of draws of equally frequent tokens that the neuron would suppress too. From:
-- detected_ngrams and the control scores in store.triggers. Sources: Voita et al. 2023, section 4.4; the centred score
-- and the base rate are ours: each detected token is replaced by one drawn from its tenth by corpus frequency. Scores of
-- a gated model are those of the pole at which the neuron is strongest (ours), whose coefficient may be negative.
-- key: model, layer, neuron
-- kept: triggers
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   n_detected: Tokens it detects.
--   mean_score: Mean raw score of these, each counted once.
--   suppresses: Whether that is negative.
--   expected: Share of 100 draws of as many equally frequent tokens whose mean raw score is negative.
--   mean_score_centred: Mean of the scores minus the mean over the vocabulary.
--   suppresses_centred: Whether that is negative.
--   any_negative: Whether any detected token has a negative raw score.
--   all_negative: Whether all have.
--   mean_z_score: Mean z-score of the detected tokens.
--   mean_rank_from_bottom: Mean place from the bottom of the vocabulary; 1 is the most suppressed token.
--   corpus: The shown corpus.
--   pole: Sign of the coefficient that all scores are for (positive, negative): of a gated model; null in others.
with thresholds as (
    select cast(0 as double) as suppression_bound,
),
tokens as (
    select
        detected.model,
        detected.model_id,
        detected.corpus,
        detected.layer,
        detected.neuron,
        detected.address,
        case when detected.pole = 'negative' then -1 else 1 end as sign,
        detected.pole,
        detected.score,
        detected.score_centred,
        detected.z_score,
        detected.rank_from_bottom,
        detected.control_scores,
    from detected_ngrams as detected
    where detected.n = 1
),
observed as (
    select
        tokens.model,
        tokens.model_id,
        tokens.corpus,
        tokens.layer,
        tokens.neuron,
        tokens.address,
        tokens.pole,
        count(*) as n_detected,
        avg(tokens.score) as mean_score,
        avg(tokens.score_centred) as mean_score_centred,
        avg(tokens.z_score) as mean_z_score,
        avg(tokens.rank_from_bottom) as mean_rank_from_bottom,
        min(tokens.score) as lowest_score,
        max(tokens.score) as highest_score,
    from tokens
    group by
        tokens.model, tokens.model_id, tokens.corpus, tokens.layer, tokens.neuron, tokens.address, tokens.pole
),
numbered as (
    select
        model_id,
        layer,
        neuron,
        sign,
        control_scores,
        unnest(generate_series(1, 100)) as draw,
    from tokens
),
draws as (
    select
        model_id,
        layer,
        neuron,
        draw,
        avg(sign * cast(list_extract(control_scores, cast(draw as integer)) as double)) as mean_score,
    from numbered
    group by model_id, layer, neuron, draw
),
expectations as (
    select
        draws.model_id,
        draws.layer,
        draws.neuron,
        avg(
            case
                when draws.mean_score < thresholds.suppression_bound then cast(1 as double)
                else cast(0 as double)
            end
        ) as expected,
    from draws
    cross join thresholds
    group by draws.model_id, draws.layer, draws.neuron
)
select
    observed.model,
    observed.layer,
    observed.neuron,
    observed.address,
    observed.n_detected,
    observed.mean_score,
    observed.mean_score < thresholds.suppression_bound as suppresses,
    expectations.expected,
    observed.mean_score_centred,
    observed.mean_score_centred < thresholds.suppression_bound as suppresses_centred,
    observed.lowest_score < thresholds.suppression_bound as any_negative,
    observed.highest_score < thresholds.suppression_bound as all_negative,
    observed.mean_z_score,
    observed.mean_rank_from_bottom,
    observed.corpus,
    observed.pole,
from observed
inner join expectations
    on expectations.model_id = observed.model_id
    and expectations.layer = observed.layer
    and expectations.neuron = observed.neuron
cross join thresholds
