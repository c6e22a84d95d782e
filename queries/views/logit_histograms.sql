-- One row per model, layer, neuron and bin: how many tokens of the vocabulary have a raw score in the bin.
-- Why: a list of the highest tokens does not show whether they stand out; this is the whole distribution, with its
-- tails. A condition on model, layer and neuron is quick. From: store.logit_histograms, which the job projections
-- fills; runs of earlier releases have no rows until `ingest MODEL --job projections --force`. Source: ours; the scores
-- are those of Geva et al. 2022, section 3. Kurtosis and skewness of the same scores are columns of neurons.
-- key: model, layer, neuron, bin
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   bin: Number of the bin, 1 to 66, from the lowest scores to the highest.
--   z_from: Lower edge, in standard deviations of the neuron's scores from their mean, inside the bin; null for the first, which is open.
--   z_to: Upper edge, outside the bin; null for the last, which is open.
--   n_tokens: Tokens of the vocabulary in the bin; where all scores are equal, all are in the one from 0.
with thresholds as (
    select
        cast(8 as double) as largest_z,
        cast(0.25 as double) as bin_width,
),
binned as (
    select
        set_id as model_id,
        layer,
        neuron,
        counts,
        array_length(counts) as n_bins,
        unnest(generate_series(1, array_length(counts))) as bin,
    from store.logit_histograms
)
select
    models.name as model,
    binned.layer,
    binned.neuron,
    facts.address,
    cast(binned.bin as integer) as bin,
    case when binned.bin > 1 then (binned.bin - 2) * thresholds.bin_width - thresholds.largest_z end as z_from,
    case
        when binned.bin < binned.n_bins then (binned.bin - 1) * thresholds.bin_width - thresholds.largest_z
    end as z_to,
    list_extract(binned.counts, binned.bin) as n_tokens,
from binned
cross join thresholds
inner join store.models as models on models.model_id = binned.model_id
inner join store.neuron_facts as facts
    on facts.set_id = binned.model_id and facts.layer = binned.layer and facts.neuron = binned.neuron
