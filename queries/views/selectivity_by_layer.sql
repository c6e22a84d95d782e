-- One row per model, layer and domain: how many neurons are selective for it, beside shuffled domains.
-- Why: in which layers neurons are for one sort of text, whether larger models have more of them, and what single ones are worth
-- there. From: selectivity, and store.neuron_effects. Source: LAPE (Tang et al. 2024); the control by shuffled domains and the effects
-- are this project's. Intervals are Wilson's of a share, 95%.
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
--   n_turned_off: Random neurons of the layer that are active most often in this domain and were turned off alone; 0 where `intervene --one-by-one` turned off none.
--   effect_on_domain: What turning one of them off adds to the loss on the text of this domain, nats a token: the mean; null where there are none.
--   effect_elsewhere: The same on all other domains together; null likewise.
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
turned_off as (
    select
        models.name as model,
        effects.layer,
        effects.neuron,
    from store.neuron_effects as effects
    inner join store.models as models on models.model_id = effects.set_id
    inner join measured_corpora
        on measured_corpora.model_id = effects.set_id and measured_corpora.corpus_id = effects.corpus_id
    where effects.is_control and measured_corpora.is_shown
),
domains as (
    select
        selectivity.model,
        selectivity.family,
        selectivity.variant,
        selectivity.size,
        selectivity.layer,
        selectivity.depth,
        selectivity.domain,
        selectivity.corpus,
        sum(case when selectivity.is_selective then cast(1 as bigint) else cast(0 as bigint) end) as n_selective,
        count(turned_off.neuron) as n_turned_off,
        avg(case when turned_off.neuron is not null then selectivity.effect_on_domain end) as effect_on_domain,
        avg(case when turned_off.neuron is not null then selectivity.effect_elsewhere end) as effect_elsewhere,
    from selectivity
    left join turned_off
        on
            turned_off.model = selectivity.model
            and turned_off.layer = selectivity.layer
            and turned_off.neuron = selectivity.neuron
    where selectivity.entropy is not null
    group by
        selectivity.model,
        selectivity.family,
        selectivity.variant,
        selectivity.size,
        selectivity.layer,
        selectivity.depth,
        selectivity.domain,
        selectivity.corpus
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
    n_turned_off,
    effect_on_domain,
    effect_elsewhere,
    corpus,
from shares
