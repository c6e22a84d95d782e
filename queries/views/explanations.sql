-- One row per explained neuron, pole, explainer and judge: what it is said to respond to, and how well that predicts, beside controls.
-- Why: which texts say more of their neurons than other texts do. From: store.explanations and explanation_scores, which has
-- each score with its parts and counts. Source: Paulo et al. 2024; the controls are this project's. The latest explanation by
-- an explainer counts.
-- Kinds of rows: pole; explainer; judge, null where nobody has judged yet.
-- key: model, layer, neuron, pole, explainer, judge
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   pole: Sign of the coefficient that the explanation is about.
--   explainer: Who explains: a person, or a language model.
--   text: The explanation.
--   judge: The language model that judged; null where none has.
--   detection: Balanced accuracy of detection; null where it was not measured.
--   detection_low: Lower end of its 95% interval.
--   detection_high: Upper end of its 95% interval.
--   detection_borrowed: The same with the text of another neuron.
--   detection_random_text: The same with random words as text.
--   detection_made_up_unit: The same for random contexts that were put as if they were a neuron's.
--   detection_shuffled: The same of the same answers with the labels shuffled.
--   fuzzing: Balanced accuracy of fuzzing; null where it was not measured.
--   fuzzing_low: Lower end of its 95% interval.
--   fuzzing_high: Upper end of its 95% interval.
--   fuzzing_borrowed: The same with the text of another neuron.
--   fuzzing_random_text: The same with random words as text.
--   fuzzing_made_up_unit: The same for random contexts that were put as if they were a neuron's.
--   fuzzing_shuffled: The same of the same answers with the labels shuffled.
--   intruder: Share of intruders that were named (by chance 0.2); null where it was not measured.
--   intruder_low: Lower end of its 95% interval.
--   intruder_high: Upper end of its 95% interval.
--   intruder_made_up_unit: The same for random contexts that were put as if they were a neuron's.
--   intruder_shuffled: The same of the same answers with the labels shuffled.
--   n_judged: Contexts that were judged by the explanation, over all methods; 0 where none were.
--   n_failed: Those without an answer.
--   created_at: When the explanation was published, in UTC.
with ordered as (
    select
        explanation_id,
        model_id,
        layer,
        neuron,
        pole,
        explainer,
        text,
        created_at,
        row_number() over (
            partition by model_id, layer, neuron, pole, explainer
            order by created_at desc, explanation_id
        ) as place,
    from store.explanations
    where subject = 'neuron'
),
scores as (
    select
        model,
        layer,
        neuron,
        pole,
        explainer,
        judge,
        max(case when method = 'detection' and condition = 'explanation' then score end) as detection,
        max(case when method = 'detection' and condition = 'explanation' then score_low end) as detection_low,
        max(case when method = 'detection' and condition = 'explanation' then score_high end) as detection_high,
        max(case when method = 'detection' and condition = 'borrowed' then score end) as detection_borrowed,
        max(case when method = 'detection' and condition = 'random text' then score end) as detection_random_text,
        max(case when method = 'detection' and condition = 'made-up unit' then score end) as detection_made_up_unit,
        max(case when method = 'detection' and condition = 'shuffled' then score end) as detection_shuffled,
        max(case when method = 'fuzzing' and condition = 'explanation' then score end) as fuzzing,
        max(case when method = 'fuzzing' and condition = 'explanation' then score_low end) as fuzzing_low,
        max(case when method = 'fuzzing' and condition = 'explanation' then score_high end) as fuzzing_high,
        max(case when method = 'fuzzing' and condition = 'borrowed' then score end) as fuzzing_borrowed,
        max(case when method = 'fuzzing' and condition = 'random text' then score end) as fuzzing_random_text,
        max(case when method = 'fuzzing' and condition = 'made-up unit' then score end) as fuzzing_made_up_unit,
        max(case when method = 'fuzzing' and condition = 'shuffled' then score end) as fuzzing_shuffled,
        max(case when method = 'intruder' and condition = 'explanation' then score end) as intruder,
        max(case when method = 'intruder' and condition = 'explanation' then score_low end) as intruder_low,
        max(case when method = 'intruder' and condition = 'explanation' then score_high end) as intruder_high,
        max(case when method = 'intruder' and condition = 'made-up unit' then score end) as intruder_made_up_unit,
        max(case when method = 'intruder' and condition = 'shuffled' then score end) as intruder_shuffled,
        sum(case when condition = 'explanation' then n_true + n_false else 0 end) as n_judged,
        sum(case when condition = 'explanation' then n_failed else 0 end) as n_failed,
    from explanation_scores
    where part = 'all'
    group by model, layer, neuron, pole, explainer, judge
)
select
    models.name as model,
    ordered.layer,
    ordered.neuron,
    models.name || '/L' || ordered.layer || 'N' || ordered.neuron as address,
    ordered.pole,
    ordered.explainer,
    ordered.text,
    scores.judge,
    scores.detection,
    scores.detection_low,
    scores.detection_high,
    scores.detection_borrowed,
    scores.detection_random_text,
    scores.detection_made_up_unit,
    scores.detection_shuffled,
    scores.fuzzing,
    scores.fuzzing_low,
    scores.fuzzing_high,
    scores.fuzzing_borrowed,
    scores.fuzzing_random_text,
    scores.fuzzing_made_up_unit,
    scores.fuzzing_shuffled,
    scores.intruder,
    scores.intruder_low,
    scores.intruder_high,
    scores.intruder_made_up_unit,
    scores.intruder_shuffled,
    cast(coalesce(scores.n_judged, 0) as bigint) as n_judged,
    cast(coalesce(scores.n_failed, 0) as bigint) as n_failed,
    ordered.created_at,
from ordered
inner join store.models as models on models.model_id = ordered.model_id
left join scores
    on scores.model = models.name
    and scores.layer = ordered.layer
    and scores.neuron = ordered.neuron
    and scores.pole = ordered.pole
    and scores.explainer = ordered.explainer
where ordered.place = 1
