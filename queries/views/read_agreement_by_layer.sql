-- One row per model, layer and reader: how often the tokens that its neurons read are the tokens that trigger them.
-- Why: keys may be read from the embeddings alone only where this is well above both controls, which is to be expected
-- of the first layers, whose stream still is nearly an embedding. From: read_agreement, whose header says what is
-- counted. Source: ours. Intervals are mean - 1.96 sd / sqrt(n) to mean + 1.96 sd / sqrt(n), null for a single neuron.
-- Kinds of rows: reader.
-- key: model, layer, reader
-- columns:
--   model: Name of the model.
--   corpus: The shown corpus.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   reader: key; in a gated model gate and up.
--   n_neurons: Neurons with a context.
--   read_share: Mean share of a neuron's strongest contexts whose token is among those that it reads.
--   read_share_low: Lower end of its 95% interval.
--   read_share_high: Upper end.
--   random_share: Mean of the share that the layer's random keys would have on the same contexts.
--   other_share: Mean of the share that the lists of the layer's other neurons would have on the same contexts.
--   n_readers: Neurons of which at least half of the contexts are at tokens that they read.
with thresholds as (
    select
        cast(0.5 as double) as half,
        cast(1.959963984540054 as double) as normal_975,
)
select
    agreement.model,
    agreement.corpus,
    agreement.layer,
    agreement.depth,
    agreement.reader,
    count(*) as n_neurons,
    avg(agreement.read_share) as read_share,
    avg(agreement.read_share)
    - max(thresholds.normal_975) * stddev_samp(agreement.read_share) / sqrt(count(*)) as read_share_low,
    avg(agreement.read_share)
    + max(thresholds.normal_975) * stddev_samp(agreement.read_share) / sqrt(count(*)) as read_share_high,
    avg(agreement.random_share) as random_share,
    avg(agreement.other_share) as other_share,
    cast(
        sum(case when agreement.read_share >= thresholds.half then 1 else 0 end) as bigint
    ) as n_readers,
from read_agreement as agreement
cross join thresholds
group by agreement.model, agreement.corpus, agreement.layer, agreement.depth, agreement.reader
