-- One row per model and intervention: what became of the loss on the shown corpus when its neurons were changed.
-- Why: the causal effect of neurons on the model's predictions. Read the percentile first, as random neurons have
-- effects too. From: store.interventions, store.intervention_effects. Source: Geva et al. 2022, section 6.1, for
-- changing neurons and perplexity; random sets, divergence and percentile are this project's.
-- key: model, intervention
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   intervention: Name of the intervention.
--   asked: How the neurons were chosen.
--   kind: The kind of neurons that was changed; null where they were chosen in another way.
--   how: set, scale, or mean (of the corpus).
--   value: What they were set to or multiplied by; null for mean. Of "promote ... at either pole": at the pole at which each promotes it.
--   moment: before or after the non-linearity.
--   positions: Positions at which they were changed, such as 0-7 or 5-; null for all.
--   n_neurons: Neurons that were changed.
--   neuron_share: n_neurons over all neurons of the model.
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
--   random_kl: Mean kl of these sets.
--   perplexity_untouched: exp(loss_untouched).
--   perplexity: exp(loss).
--   window_perplexity_untouched: exp of the mean of the losses of whole sequences, each weighted by all its ids and not by those predicted: what the code of Geva et al. computes.
--   window_perplexity: The same with the neurons changed.
--   mass_promoted_untouched: Mean probability of the 50 tokens that the neurons promote most together, in the model as it is.
--   mass_promoted: The same with the neurons changed.
--   mass_suppressed_untouched: Mean probability of the 50 tokens that they suppress most together, in the model as it is.
--   mass_suppressed: The same with the neurons changed.
--   watched: Tokens whose probability was asked for, a JSON list of their exact texts; null for none.
--   mass_watched_untouched: Mean probability of these tokens together, in the model as it is; null for none.
--   mass_watched: The same with the neurons changed.
--   random_mass_watched: Mean of it over the random sets.
--   corpus: The shown corpus.
with thresholds as (
    select 20 as least_sets,
),
effects as (
    select
        model_id,
        corpus_id,
        intervention,
        set_number,
        cast(sum(n_tokens) as bigint) as n_tokens,
        sum(nll) / sum(n_tokens) as loss,
        sum(nll_untouched) / sum(n_tokens) as loss_untouched,
        sum(kl) / sum(n_tokens) as kl,
        sum(mass_promoted) / sum(n_tokens) as mass_promoted,
        sum(mass_promoted_untouched) / sum(n_tokens) as mass_promoted_untouched,
        sum(mass_suppressed) / sum(n_tokens) as mass_suppressed,
        sum(mass_suppressed_untouched) / sum(n_tokens) as mass_suppressed_untouched,
        sum(nll_windows) / sum(window_weight) as window_loss,
        sum(nll_windows_untouched) / sum(window_weight) as window_loss_untouched,
        sum(mass_watched) / sum(n_tokens) as mass_watched,
        sum(mass_watched_untouched) / sum(n_tokens) as mass_watched_untouched,
    from store.intervention_effects
    group by model_id, corpus_id, intervention, set_number
),
compared as (
    select
        asked.model_id,
        asked.corpus_id,
        asked.intervention,
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
        avg(random_sets.mass_watched) as random_mass_watched,
    from effects as asked
    left join effects as random_sets
        on
            random_sets.model_id = asked.model_id
            and random_sets.corpus_id = asked.corpus_id
            and random_sets.intervention = asked.intervention
            and random_sets.set_number > 0
    where asked.set_number = 0
    group by asked.model_id, asked.corpus_id, asked.intervention
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    interventions.intervention,
    interventions.asked,
    interventions.kind,
    interventions.how,
    interventions.value,
    interventions.moment,
    interventions.positions,
    interventions.n_neurons,
    cast(interventions.n_neurons as double) / models.n_neurons as neuron_share,
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
    compared.random_kl,
    exp(changed.loss_untouched) as perplexity_untouched,
    exp(changed.loss) as perplexity,
    exp(changed.window_loss_untouched) as window_perplexity_untouched,
    exp(changed.window_loss) as window_perplexity,
    changed.mass_promoted_untouched,
    changed.mass_promoted,
    changed.mass_suppressed_untouched,
    changed.mass_suppressed,
    interventions.watched,
    changed.mass_watched_untouched,
    changed.mass_watched,
    compared.random_mass_watched,
    measured_corpora.corpus,
from store.interventions as interventions
cross join thresholds
inner join store.models as models on models.model_id = interventions.model_id
inner join measured_corpora
    on measured_corpora.model_id = interventions.model_id and measured_corpora.corpus_id = interventions.corpus_id
inner join compared
    on
        compared.model_id = interventions.model_id
        and compared.corpus_id = interventions.corpus_id
        and compared.intervention = interventions.intervention
inner join effects as changed
    on
        changed.model_id = interventions.model_id
        and changed.corpus_id = interventions.corpus_id
        and changed.intervention = interventions.intervention
        and changed.set_number = 0
where measured_corpora.is_shown
