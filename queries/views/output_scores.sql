-- One row per model, layer and neuron that was turned up: whether the model says what the neuron promotes once it is turned up.
-- Why: a neuron that promotes tokens by its value vector need not bring them out: later layers may undo it. Those with a high
-- output score steer; those with a high input score read what they promote, and few have both. The neuron is set to ten times
-- its largest activation at the last position of "In my experience,". From: store.output_scores, which
-- `neurothek ingest MODEL --job output_scores` fills for `--scored` random neurons of each layer and for those that `--where`
-- chooses, and store.neuron_facts, whose input scores are those of input_scores. Source: Arad et al. 2025; the prompt, the sample and the controls are this project's.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   corpus: The shown corpus, on which activations were measured.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   is_sampled: Whether it is one of the random neurons of its layer; others were chosen by a condition.
--   pole: Sign of the activation at which it is set, the strongest: positive where the model is not gated.
--   rank_best: How many tokens are more probable than the most probable of the 20 that it promotes; null where the model so changed says no number.
--   max_probability: Probability of that one.
--   output_score: (1 - rank_best / W) * max_probability, W the unmasked vocabulary.
--   untouched_score: The same of the same tokens in the model as it is.
--   n_others: Random other neurons of the layer, at most 50.
--   other_score: Mean of the same score over the tokens that these promote, with this neuron set; null where there are none.
--   other_percentile: Share of them with a smaller one, in percent, equal ones counting half: 95 or more by chance at 3 of 51 neurons.
--   n_contexts: Its strongest contexts of that sign; null before contexts were measured, like the columns after it.
--   input_score: Share of its strongest contexts of that sign whose token is among the 20.
--   input_other_score: Mean of the same over the lists of the layer's other neurons.
--   is_reader: Its input score is above that mean.
--   is_writer: Its output score is above untouched_score, and its percentile at least 95; null where it has no percentile.
with thresholds as (
    select
        cast(95 as double) as least_percentile,
),
shown as (
    select
        model_id,
        corpus_id,
        model,
        corpus,
    from measured_corpora
    where is_shown
)
select
    shown.model,
    shown.corpus,
    scores.layer,
    scores.neuron,
    shown.model || '/L' || cast(scores.layer as varchar) || 'N' || cast(scores.neuron as varchar) as address,
    (cast(scores.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    scores.is_sampled,
    scores.pole,
    scores.rank_best,
    scores.max_probability,
    scores.output_score,
    scores.untouched_score,
    scores.n_others,
    scores.other_score,
    scores.other_percentile,
    facts.n_strongest_contexts as n_contexts,
    facts.input_score,
    facts.input_other_score,
    facts.input_score > facts.input_other_score as is_reader,
    case
        when scores.other_percentile is not null
            then scores.output_score > scores.untouched_score and scores.other_percentile >= thresholds.least_percentile
    end as is_writer,
from store.output_scores as scores
cross join thresholds
inner join shown on shown.model_id = scores.set_id and shown.corpus_id = scores.corpus_id
inner join store.models as models on models.model_id = scores.set_id
left join store.neuron_facts as facts
    on facts.set_id = scores.set_id and facts.layer = scores.layer and facts.neuron = scores.neuron
