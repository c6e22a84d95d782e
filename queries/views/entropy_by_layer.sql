-- One row per model and layer: how many neurons write where no logit moves, and how many follow token frequency.
-- Why: in which layers such neurons are; of random vectors one in 501 would be above 500 others. From: entropy_neurons. Source:
-- Stolfo et al. 2024, Gurnee et al. 2024; the comparison with random vectors is this project's.
-- key: model, layer
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_neurons: Neurons of the layer.
--   null_share: Mean share of squared length that moves no logit against another.
--   null_share_largest: The largest of one neuron.
--   beyond_random_share: Share of the neurons in which it is above that of all random vectors of the layer.
--   n_entropy_neurons: Those of them that are at least as long as half of the layer's value vectors.
--   count_correlation_size: Mean size of the correlation with token counts.
--   n_frequency_neurons: Neurons in which it is above that of all random vectors, and which are at least so long.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(100 as double) as above_all,
)
select
    entropy.model,
    entropy.family,
    entropy.variant,
    entropy.size,
    entropy.layer,
    entropy.depth,
    count(*) as n_neurons,
    avg(entropy.null_share) as null_share,
    max(entropy.null_share) as null_share_largest,
    avg(
        case when entropy.null_share_percentile >= thresholds.above_all then cast(1 as double) else cast(0 as double) end
    ) as beyond_random_share,
    sum(case when entropy.is_entropy_neuron then cast(1 as bigint) else cast(0 as bigint) end) as n_entropy_neurons,
    avg(abs(entropy.count_correlation)) as count_correlation_size,
    sum(case when entropy.is_frequency_neuron then cast(1 as bigint) else cast(0 as bigint) end) as n_frequency_neurons,
    entropy.corpus,
from entropy_neurons as entropy
cross join thresholds
group by entropy.model, entropy.family, entropy.variant, entropy.size, entropy.layer, entropy.depth, entropy.corpus
