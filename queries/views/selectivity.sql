-- One row per model, layer and neuron: for which domain of the shown corpus it is, and how often chance alone makes it so.
-- Why: a neuron that is active in one language or sort of text, and hardly elsewhere. Sequences keep their activations, and their
-- domains are shuffled over them. From: store.selectivity, which the job selectivity fills, and store.neuron_effects_by_domain.
-- Source: LAPE (Tang et al. 2024); p by shuffled domains, strong activations where a model has no exact zeros, and the effects are
-- this project's.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   n_active: Counted positions at which it is active: strongly (|m| > 3 root mean squares, of either sign) where there are no exact zeros.
--   domain: The domain in which it is active most often; null if it never is.
--   domain_share: Its frequency there over the sum of its frequencies in all domains.
--   entropy: Entropy of these shares over the logarithm of the number of domains: 0 in one domain alone, 1 in all alike; null in a corpus of one.
--   p: Share of 200 shuffles of the sequences' domains, and itself, in which its entropy is at most as large.
--   is_selective: p is at most 0.01; null where there is none.
--   shuffled_share: Share of 20 more shuffles, each taken for the true domains, that would make it selective.
--   effect_on_domain: What turning it off alone adds to the loss on the text of its domain, nats a token; null where `intervene --one-by-one` did not.
--   effect_elsewhere: The same on all other domains together; null likewise.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(0.01 as double) as largest_p,
        cast(20 as double) as n_controls,
),
turned_off as (
    select
        effects.set_id,
        effects.corpus_id,
        effects.layer,
        effects.neuron,
        sum(case when effects.domain = own.domain then effects.nll - effects.nll_untouched end)
        / sum(case when effects.domain = own.domain then effects.n_tokens end) as effect_on_domain,
        sum(case when effects.domain <> own.domain then effects.nll - effects.nll_untouched end)
        / sum(case when effects.domain <> own.domain then effects.n_tokens end) as effect_elsewhere,
    from store.neuron_effects_by_domain as effects
    inner join store.selectivity as own
        on
            own.set_id = effects.set_id
            and own.corpus_id = effects.corpus_id
            and own.layer = effects.layer
            and own.neuron = effects.neuron
    group by effects.set_id, effects.corpus_id, effects.layer, effects.neuron
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    measured.layer,
    measured.neuron,
    models.name || '/L' || measured.layer || 'N' || measured.neuron as address,
    (cast(measured.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    measured.n_active,
    measured.domain,
    measured.domain_share,
    measured.entropy,
    measured.p,
    measured.p <= thresholds.largest_p as is_selective,
    measured.n_shuffled_selective / thresholds.n_controls as shuffled_share,
    turned_off.effect_on_domain,
    turned_off.effect_elsewhere,
    measured_corpora.corpus,
from store.selectivity as measured
cross join thresholds
inner join store.models as models on models.model_id = measured.set_id
inner join measured_corpora
    on measured_corpora.model_id = measured.set_id and measured_corpora.corpus_id = measured.corpus_id
left join turned_off
    on
        turned_off.set_id = measured.set_id
        and turned_off.corpus_id = measured.corpus_id
        and turned_off.layer = measured.layer
        and turned_off.neuron = measured.neuron
where measured_corpora.is_shown
