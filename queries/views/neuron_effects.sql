-- One row per model, layer and neuron that was turned off alone: what that adds to the loss on the shown corpus.
-- Why: which single neurons the model needs, and whether more than others of their layer; most effects are near 0. From:
-- store.neuron_effects, which `neurothek intervene MODEL --one-by-one` fills. Source: this project; turning neurons off, Geva
-- et al. 2022, section 6.1.
-- Kinds of rows: is_control.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   is_control: Whether it is one of the up to 20 random neurons of its layer, among those that fire, that others are compared with.
--   n_tokens: Tokens that were predicted.
--   effect_on_loss: What setting its activation to 0 adds to the mean loss of these tokens, nats.
--   effect_percentile: Percent of the random neurons of its layer, itself left out, whose effect is smaller; of equal ones half counts; null of fewer than 20.
--   random_effect: Mean effect of these random neurons.
--   random_effect_least: Least effect of them.
--   random_effect_most: Largest effect of them.
--   kl: Mean divergence KL(untouched || without the neuron) of the predictions, nats.
--   corpus: The shown corpus.
with thresholds as (
    select 20 as least_sets,
),
effects as (
    select set_id as model_id, corpus_id, layer, neuron, is_control, n_tokens, (nll - nll_untouched) / n_tokens as effect, kl / n_tokens as kl,
    from store.neuron_effects
),
compared as (
    select
        effects.model_id,
        effects.corpus_id,
        effects.layer,
        effects.neuron,
        count(others.neuron) as n_others,
        avg(others.effect) as random_effect,
        min(others.effect) as random_effect_least,
        max(others.effect) as random_effect_most,
        100 * avg(
            case
                when others.effect < effects.effect then cast(1 as double)
                when others.effect = effects.effect then cast(0.5 as double)
                when others.effect > effects.effect then cast(0 as double)
            end
        ) as effect_percentile,
    from effects
    left join effects as others
        on
            others.model_id = effects.model_id
            and others.corpus_id = effects.corpus_id
            and others.layer = effects.layer
            and others.is_control
            and others.neuron <> effects.neuron
    group by effects.model_id, effects.corpus_id, effects.layer, effects.neuron
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    effects.layer,
    effects.neuron,
    models.name || '/L' || effects.layer || 'N' || effects.neuron as address,
    effects.is_control,
    effects.n_tokens,
    effects.effect as effect_on_loss,
    case when compared.n_others >= thresholds.least_sets then compared.effect_percentile end as effect_percentile,
    compared.random_effect,
    compared.random_effect_least,
    compared.random_effect_most,
    effects.kl,
    measured_corpora.corpus,
from effects
cross join thresholds
inner join store.models as models on models.model_id = effects.model_id
inner join measured_corpora
    on measured_corpora.model_id = effects.model_id and measured_corpora.corpus_id = effects.corpus_id
inner join compared
    on
        compared.model_id = effects.model_id
        and compared.corpus_id = effects.corpus_id
        and compared.layer = effects.layer
        and compared.neuron = effects.neuron
where measured_corpora.is_shown
