-- One row per model, layer and whether it is the neurons' strongest pole: how often they are strongest at tokens that they promote.
-- Why: in which layers a neuron's list of tokens tells what it reads, beside what the layer's common tokens make of it. From:
-- input_scores, whose header says what is counted. Source: Arad et al. 2025 (input score); the control is this project's.
-- Intervals are mean - 1.96 sd / sqrt(n) to mean + 1.96 sd / sqrt(n), null for a single neuron.
-- Kinds of rows: is_strongest.
-- key: model, layer, is_strongest
-- columns:
--   model: Name of the model.
--   corpus: The shown corpus.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   is_strongest: Contexts of the sign of a neuron's largest |m|; false: of the other one, which is often weak.
--   n_neurons: Neurons with contexts of that pole.
--   input_score: Mean share of a neuron's strongest contexts whose token is among the 20 that it promotes.
--   input_score_low: Lower end of its 95% interval.
--   input_score_high: Upper end.
--   other_score: Mean of the share that the lists of the layer's other neurons have on the same contexts.
--   n_readers: Neurons of which at least half of the contexts are at tokens that they promote.
with thresholds as (
    select
        cast(0.5 as double) as half,
        cast(1.959963984540054 as double) as normal_975,
)
select
    scores.model,
    scores.corpus,
    scores.layer,
    scores.depth,
    scores.is_strongest,
    count(*) as n_neurons,
    avg(scores.input_score) as input_score,
    avg(scores.input_score)
    - max(thresholds.normal_975) * stddev_samp(scores.input_score) / sqrt(count(*)) as input_score_low,
    avg(scores.input_score)
    + max(thresholds.normal_975) * stddev_samp(scores.input_score) / sqrt(count(*)) as input_score_high,
    avg(scores.other_score) as other_score,
    cast(
        sum(case when scores.input_score >= thresholds.half then 1 else 0 end) as bigint
    ) as n_readers,
from input_scores as scores
cross join thresholds
group by scores.model, scores.corpus, scores.layer, scores.depth, scores.is_strongest
