-- One row per explanation, judge, method, condition and part: how well the text predicts where the neuron is active, or a control does.
-- Why: a score says something only beside those of texts that are not about the neuron. From: store.explanations and
-- store.explanation_judgements, which `neurothek explain` fills. Source: detection and fuzzing after Paulo et al. 2024,
-- intruders after Paulo and Belrose 2025; the contexts, thirds and controls are this project's. The score of detection and
-- fuzzing is the balanced accuracy: the mean of the shares of true and of false contexts that were judged rightly; of
-- intruders the share that was named, of which chance is 1 in 5. Intervals: Wilson's; of a mean of two shares after Newcombe
-- 1998. Contexts of a failed call are counted as failed and as nothing else. The latest explanation by an explainer counts.
-- Kinds of rows: pole; explainer; judge; method; condition; part, where all includes the others.
-- key: model, layer, neuron, pole, explainer, judge, method, condition, part
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   pole: Sign of the coefficient that the explanation is about.
--   explainer: Who explains.
--   text: The explanation.
--   judge: The language model that judged.
--   method: detection, fuzzing or intruder.
--   condition: explanation, or the control: borrowed, random text, made-up unit or shuffled.
--   part: Part of the true contexts: strongest, or upper, middle or lower third of a sample; all. False ones are the same for each.
--   score: Balanced accuracy, or the share of intruders that were named; null where a side has no answers.
--   score_low: Lower end of its 95% interval.
--   score_high: Upper end of it.
--   n_true: Answers about contexts whose label is true; intruders.
--   n_true_right: Those of them that say so; intruders named.
--   n_false: Answers about contexts whose label is false; of intruders 0.
--   n_false_right: Those of them that say so.
--   n_failed: Contexts without an answer, true ones of the part and all false ones.
--   judged_at: When the last of them was published, in UTC.
with thresholds as (
    select cast(1.959963984540054 as double) as normal_975,
),
ordered as (
    select
        explanation_id,
        model_id,
        layer,
        neuron,
        pole,
        explainer,
        text,
        row_number() over (
            partition by model_id, layer, neuron, pole, explainer
            order by created_at desc, explanation_id
        ) as place,
    from store.explanations
    where subject = 'neuron'
),
parts as (
    select
        explanation_id,
        judge,
        method,
        condition,
        part,
    from store.explanation_judgements
    where is_true and method <> 'intruder'
    union
    select
        explanation_id,
        judge,
        method,
        condition,
        'all' as part,
    from store.explanation_judgements
),
counted as (
    select
        parts.explanation_id,
        parts.judge,
        parts.method,
        parts.condition,
        parts.part,
        count(case when judgements.is_true then judgements.answer end) as n_true,
        count(case when judgements.is_true and judgements.answer then 1 end) as n_true_right,
        count(case when not judgements.is_true then judgements.answer end) as n_false,
        count(case when not judgements.is_true and not judgements.answer then 1 end) as n_false_right,
        count(case when judgements.answer is null then 1 end) as n_failed,
        max(judgements.created_at) as judged_at,
    from parts
    inner join store.explanation_judgements as judgements
        on judgements.explanation_id = parts.explanation_id
        and judgements.judge = parts.judge
        and judgements.method = parts.method
        and judgements.condition = parts.condition
        and (parts.part = 'all' or judgements.part = parts.part or not judgements.is_true)
    group by parts.explanation_id, parts.judge, parts.method, parts.condition, parts.part
),
shares as (
    select
        counted.explanation_id,
        counted.judge,
        counted.method,
        counted.condition,
        counted.part,
        counted.n_true,
        counted.n_true_right,
        counted.n_false,
        counted.n_false_right,
        counted.n_failed,
        counted.judged_at,
        cast(counted.n_true_right as double) / nullif(counted.n_true, 0) as true_share,
        cast(counted.n_false_right as double) / nullif(counted.n_false, 0) as false_share,
        power(thresholds.normal_975, 2) / nullif(counted.n_true, 0) as true_doubt,
        power(thresholds.normal_975, 2) / nullif(counted.n_false, 0) as false_doubt,
    from counted
    cross join thresholds
),
ends as (
    -- How far the ends of Wilson's intervals lie from the shares.
    select
        explanation_id,
        judge,
        method,
        condition,
        part,
        n_true,
        n_true_right,
        n_false,
        n_false_right,
        n_failed,
        judged_at,
        true_share,
        false_share,
        true_share - (
            true_share + true_doubt / 2 - sqrt(true_doubt * (true_share * (1 - true_share) + true_doubt / 4))
        ) / (1 + true_doubt) as true_below,
        (
            true_share + true_doubt / 2 + sqrt(true_doubt * (true_share * (1 - true_share) + true_doubt / 4))
        ) / (1 + true_doubt) - true_share as true_above,
        false_share - (
            false_share + false_doubt / 2 - sqrt(false_doubt * (false_share * (1 - false_share) + false_doubt / 4))
        ) / (1 + false_doubt) as false_below,
        (
            false_share + false_doubt / 2 + sqrt(false_doubt * (false_share * (1 - false_share) + false_doubt / 4))
        ) / (1 + false_doubt) - false_share as false_above,
    from shares
)
select
    models.name as model,
    ordered.layer,
    ordered.neuron,
    models.name || '/L' || ordered.layer || 'N' || ordered.neuron as address,
    ordered.pole,
    ordered.explainer,
    ordered.text,
    ends.judge,
    ends.method,
    ends.condition,
    ends.part,
    case when ends.method = 'intruder' then ends.true_share else (ends.true_share + ends.false_share) / 2 end as score,
    case
        when ends.method = 'intruder' then ends.true_share - ends.true_below
        else (ends.true_share + ends.false_share) / 2 - sqrt(power(ends.true_below, 2) + power(ends.false_below, 2)) / 2
    end as score_low,
    case
        when ends.method = 'intruder' then ends.true_share + ends.true_above
        else (ends.true_share + ends.false_share) / 2 + sqrt(power(ends.true_above, 2) + power(ends.false_above, 2)) / 2
    end as score_high,
    ends.n_true,
    ends.n_true_right,
    ends.n_false,
    ends.n_false_right,
    ends.n_failed,
    ends.judged_at,
from ends
inner join ordered on ordered.explanation_id = ends.explanation_id and ordered.place = 1
inner join store.models as models on models.model_id = ordered.model_id
