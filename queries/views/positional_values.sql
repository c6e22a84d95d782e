-- One row per model, layer with positional neurons and kind of neuron: what their value vectors are like.
-- Why: neurons that fire by position do not fit the picture of keys that match patterns and values that hold their
-- concepts; whether their value vectors differ from those of their layer can be seen here. From: neurons, for the labels
-- and their thresholds. Source: ours, asked by Voita et al. 2023, section 5.5; coherence and its null are ours, too.
-- Intervals are mean - 1.96 sd / sqrt(n) to mean + 1.96 sd / sqrt(n), null for a single neuron.
-- Kinds of rows: kind.
-- key: model, layer, kind
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   kind: positional: neurons whose position_kind is one of the four; other: the rest of the layer.
--   n: Neurons of the kind.
--   value_norm: Mean L2 norm of their value vectors.
--   value_norm_low: Lower end of its 95% interval.
--   value_norm_high: Upper end.
--   kurtosis: Mean excess kurtosis of their raw scores over the vocabulary.
--   kurtosis_low: Lower end of its 95% interval.
--   kurtosis_high: Upper end.
--   n_coherent: Those of them whose coherence is known.
--   coherence: Mean coherence of their top tokens; null where it was not measured.
--   coherence_low: Lower end of its 95% interval.
--   coherence_high: Upper end.
--   corpus: The shown corpus.
with thresholds as (
    select cast(1.959963984540054 as double) as normal_975,
),
labelled as (
    select
        model,
        family,
        variant,
        size,
        layer,
        depth,
        corpus,
        value_norm,
        kurtosis,
        coherence,
        case when position_kind = 'not positional' then 'other' else 'positional' end as kind,
    from neurons
    where position_kind is not null and position_kind <> 'too few sequences'
),
summed as (
    select
        model,
        family,
        variant,
        size,
        layer,
        depth,
        corpus,
        kind,
        count(*) as n,
        count(coherence) as n_coherent,
        avg(value_norm) as value_norm,
        stddev_samp(value_norm) / sqrt(count(value_norm)) as value_norm_error,
        avg(kurtosis) as kurtosis,
        stddev_samp(kurtosis) / sqrt(count(kurtosis)) as kurtosis_error,
        avg(coherence) as coherence,
        stddev_samp(coherence) / sqrt(count(coherence)) as coherence_error,
    from labelled
    group by model, family, variant, size, layer, depth, corpus, kind
),
chosen as (
    select distinct
        model,
        layer,
    from labelled
    where kind = 'positional'
)
select
    summed.model,
    summed.family,
    summed.variant,
    summed.size,
    summed.layer,
    summed.depth,
    summed.kind,
    summed.n,
    summed.value_norm,
    summed.value_norm - thresholds.normal_975 * summed.value_norm_error as value_norm_low,
    summed.value_norm + thresholds.normal_975 * summed.value_norm_error as value_norm_high,
    summed.kurtosis,
    summed.kurtosis - thresholds.normal_975 * summed.kurtosis_error as kurtosis_low,
    summed.kurtosis + thresholds.normal_975 * summed.kurtosis_error as kurtosis_high,
    summed.n_coherent,
    summed.coherence,
    summed.coherence - thresholds.normal_975 * summed.coherence_error as coherence_low,
    summed.coherence + thresholds.normal_975 * summed.coherence_error as coherence_high,
    summed.corpus,
from summed
inner join chosen on chosen.model = summed.model and chosen.layer = summed.layer
cross join thresholds
