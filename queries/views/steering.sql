-- One row per model, intervention, domain and range of positions: the effect on the loss there.
-- Why: neurons of code should matter to code, positional ones to their positions. From: store.intervention_effects, as the
-- view interventions. Source: Geva et al. 2022, section 6.1; by domain and position, with random sets, this project's.
-- Kinds of rows: domain.
-- key: model, intervention, domain, position_from
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   intervention: Name of the intervention.
--   domain: Domain of the text.
--   position_from: First position of the range: 0, 1, 8, 64 or 512; it ends before the next of these.
--   n_tokens: Tokens that were predicted.
--   loss_untouched: Mean negative log-likelihood of these tokens in the model as it is, nats.
--   loss: The same with the neurons changed.
--   effect: loss - loss_untouched: above 0 where the model needs the neurons as they are.
--   kl: Mean divergence KL(untouched || changed) of the predictions, nats.
--   n_sets: Random sets of the same size, matched by layer and frequency, that were changed in the same way.
--   random_effect: Mean effect of these sets.
--   random_effect_least: Least effect of these sets.
--   random_effect_most: Largest effect of these sets.
--   percentile: Percent of these sets whose effect is smaller; of equal ones half counts; null of fewer than 20 sets.
--   corpus: The shown corpus.
with thresholds as (
    select 20 as least_sets,
),
effects as (
    select
        model_id,
        corpus_id,
        intervention,
        domain,
        position_from,
        set_number,
        cast(sum(n_tokens) as bigint) as n_tokens,
        sum(nll) / sum(n_tokens) as loss,
        sum(nll_untouched) / sum(n_tokens) as loss_untouched,
        sum(kl) / sum(n_tokens) as kl,
    from store.intervention_effects
    group by model_id, corpus_id, intervention, domain, position_from, set_number
),
compared as (
    select
        asked.model_id,
        asked.corpus_id,
        asked.intervention,
        asked.domain,
        asked.position_from,
        count(random_sets.set_number) as n_sets,
        avg(random_sets.loss - random_sets.loss_untouched) as random_effect,
        min(random_sets.loss - random_sets.loss_untouched) as random_effect_least,
        max(random_sets.loss - random_sets.loss_untouched) as random_effect_most,
        100 * avg(
            case
                when random_sets.loss - random_sets.loss_untouched < asked.loss - asked.loss_untouched then cast(1 as double)
                when random_sets.loss - random_sets.loss_untouched = asked.loss - asked.loss_untouched then cast(0.5 as double)
                when random_sets.set_number > 0 then cast(0 as double)
            end
        ) as percentile,
        avg(random_sets.kl) as random_kl,
    from effects as asked
    left join effects as random_sets
        on
            random_sets.model_id = asked.model_id
            and random_sets.corpus_id = asked.corpus_id
            and random_sets.intervention = asked.intervention
            and random_sets.domain = asked.domain
            and random_sets.position_from = asked.position_from
            and random_sets.set_number > 0
    where asked.set_number = 0
    group by asked.model_id, asked.corpus_id, asked.intervention, asked.domain, asked.position_from
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    changed.intervention,
    changed.domain,
    changed.position_from,
    changed.n_tokens,
    changed.loss_untouched,
    changed.loss,
    changed.loss - changed.loss_untouched as effect,
    changed.kl,
    compared.n_sets,
    compared.random_effect,
    compared.random_effect_least,
    compared.random_effect_most,
    case when compared.n_sets >= thresholds.least_sets then compared.percentile end as percentile,
    measured_corpora.corpus,
from effects as changed
cross join thresholds
inner join store.models as models on models.model_id = changed.model_id
inner join measured_corpora
    on measured_corpora.model_id = changed.model_id and measured_corpora.corpus_id = changed.corpus_id
inner join compared
    on
        compared.model_id = changed.model_id
        and compared.corpus_id = changed.corpus_id
        and compared.intervention = changed.intervention
        and compared.domain = changed.domain
        and compared.position_from = changed.position_from
where measured_corpora.is_shown and changed.set_number = 0
