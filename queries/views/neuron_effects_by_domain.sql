-- One row per model, layer, neuron that was turned off alone, and domain: what that adds to the loss on the domain's text.
-- Why: whether a neuron that is active in one language or sort of text matters there, and nowhere else. From:
-- store.neuron_effects_by_domain, which `neurothek intervene MODEL --one-by-one` fills. Source: this project; turning neurons off,
-- Geva et al. 2022, section 6.1; by language, Tang et al. 2024.
-- Kinds of rows: domain; is_control.
-- key: model, layer, neuron, domain
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   domain: Domain of the text.
--   is_control: Whether it is one of the up to 20 random neurons of its layer, among those that fire, that others are compared with.
--   n_tokens: Tokens of the domain that were predicted.
--   effect_on_loss: What setting its activation to 0 adds to the mean loss of these tokens, nats.
--   effect_percentile: Percent of the random neurons of its layer, itself left out, whose effect on this domain is smaller; of equal ones half counts; null of fewer than 20.
--   random_effect: Mean effect of these random neurons on this domain.
--   random_effect_least: Least effect of them.
--   random_effect_most: Largest effect of them.
--   kl: Mean divergence KL(untouched || without the neuron) of the predictions, nats.
--   corpus: The shown corpus.
with thresholds as (
    select 20 as least_sets,
),
effects as (
    select
        parts.set_id,
        parts.corpus_id,
        parts.layer,
        parts.neuron,
        parts.domain,
        whole.is_control,
        parts.n_tokens,
        (parts.nll - parts.nll_untouched) / parts.n_tokens as effect,
        parts.kl / parts.n_tokens as kl,
    from store.neuron_effects_by_domain as parts
    inner join store.neuron_effects as whole
        on
            whole.set_id = parts.set_id
            and whole.corpus_id = parts.corpus_id
            and whole.layer = parts.layer
            and whole.neuron = parts.neuron
),
compared as (
    select
        effects.set_id,
        effects.corpus_id,
        effects.layer,
        effects.neuron,
        effects.domain,
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
            others.set_id = effects.set_id
            and others.corpus_id = effects.corpus_id
            and others.layer = effects.layer
            and others.domain = effects.domain
            and others.is_control
            and others.neuron <> effects.neuron
    group by effects.set_id, effects.corpus_id, effects.layer, effects.neuron, effects.domain
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    effects.layer,
    effects.neuron,
    models.name || '/L' || effects.layer || 'N' || effects.neuron as address,
    effects.domain,
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
inner join store.models as models on models.model_id = effects.set_id
inner join measured_corpora
    on measured_corpora.model_id = effects.set_id and measured_corpora.corpus_id = effects.corpus_id
inner join compared
    on
        compared.set_id = effects.set_id
        and compared.corpus_id = effects.corpus_id
        and compared.layer = effects.layer
        and compared.neuron = effects.neuron
        and compared.domain = effects.domain
where measured_corpora.is_shown
