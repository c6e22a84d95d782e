-- One row per model, layer and domain: how many neurons are selective for it, beside shuffled domains.
-- Why: in which layers neurons are for one sort of text, and whether larger models have more of them. From: selectivity. Source:
-- LAPE (Tang et al. 2024); the control by shuffled domains is this project's. Intervals are Wilson's of a share, 95%.
-- Kinds of rows: domain.
-- key: model, layer, domain
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   domain: A domain in which neurons of the layer are active most often.
--   n_neurons: Neurons of the layer with an entropy, whatever their domain.
--   n_selective: Neurons that are selective, and for this domain.
--   selective_share: n_selective / n_neurons.
--   selective_share_low: Lower end of its interval.
--   selective_share_high: Upper end.
--   layer_selective_share: Share of the layer's neurons that are selective for any domain.
--   layer_shuffled_share: The same with shuffled domains taken for the true ones, the mean of 20 shuffles.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(1.959963984540054 as double) as normal_975,
),
layers as (
    select
        model,
        layer,
        count(*) as n_neurons,
        avg(case when is_selective then cast(1 as double) else cast(0 as double) end) as selective_share,
        avg(shuffled_share) as shuffled_share,
    from selectivity
    where entropy is not null
    group by model, layer
),
domains as (
    select
        model,
        family,
        variant,
        size,
        layer,
        depth,
        domain,
        corpus,
        sum(case when is_selective then cast(1 as bigint) else cast(0 as bigint) end) as n_selective,
    from selectivity
    where entropy is not null
    group by model, family, variant, size, layer, depth, domain, corpus
),
shares as (
    select
        domains.*,
        layers.n_neurons,
        layers.selective_share as layer_selective_share,
        layers.shuffled_share as layer_shuffled_share,
        cast(domains.n_selective as double) / layers.n_neurons as selective_share,
        thresholds.normal_975 * thresholds.normal_975 / layers.n_neurons as z2n,
    from domains
    inner join layers on layers.model = domains.model and layers.layer = domains.layer
    cross join thresholds
)
select
    model,
    family,
    variant,
    size,
    layer,
    depth,
    domain,
    n_neurons,
    n_selective,
    selective_share,
    (
        selective_share + z2n / 2
        - sqrt(greatest(z2n * selective_share * (1 - selective_share) + z2n * z2n / 4, 0))
    ) / (1 + z2n) as selective_share_low,
    (
        selective_share + z2n / 2
        + sqrt(greatest(z2n * selective_share * (1 - selective_share) + z2n * z2n / 4, 0))
    ) / (1 + z2n) as selective_share_high,
    layer_selective_share,
    layer_shuffled_share,
    corpus,
from shares
