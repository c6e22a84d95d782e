-- One row per model and layer: how its neurons fire on the model's shown corpus.
-- Why: Figure 1 of Voita et al. 2023, dead neurons and activation frequency by layer, for models of several sizes.
-- From: store.neuron_facts. Source: Voita et al. 2023, section 3; that the prepended BOS does not count is ours.
-- Frequencies are those of the neurons that fired.
-- key: model, layer
-- kept: activity
-- columns:
--   model: Name of the model.
--   family: Models of one family differ in size or variant only.
--   variant: Null for a plain size; else what sets the model apart.
--   size: Parameters of the model without embeddings.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   n_neurons: Neurons of the layer that were measured.
--   n_never_active: Neurons that never fired.
--   never_active_share: n_never_active / n_neurons.
--   n_dead: n_never_active; null for models without exact zeros.
--   dead_share: n_dead / n_neurons.
--   n_provably_dead: Neurons that no input can activate; null for post-norm blocks and models without exact zeros.
--   provably_dead_share: n_provably_dead / n_neurons.
--   mean_frequency: Mean frequency of the neurons that fired.
--   frequency_25: A quarter of the neurons that fired have at most this frequency.
--   median_frequency: Half of them have at most this frequency.
--   frequency_75: Three quarters of them have at most this frequency.
--   median_effective_frequency: Half of the neurons have at most this effective frequency: see neuron_activity.
--   n_negligible: Neurons that never have 0.01 of their FFN's output: of models without exact zeros what n_dead is of others; null before the job poles ran.
--   negligible_share: n_negligible / n_neurons.
--   n_tokens_seen: Counted positions of the shown corpus.
--   corpus: The shown corpus.
with thresholds as (
    select
        cast(0 as bigint) as dead_active_positions,
        cast(0 as double) as dead_bound,
        cast(0.01 as double) as negligible_contribution,
),
watched as (
    select
        facts.set_id as model_id,
        facts.corpus_id,
        facts.layer,
        facts.depth,
        facts.n_positions,
        facts.n_active = thresholds.dead_active_positions as never_active,
        facts.preactivation_bound < thresholds.dead_bound as bound_below,
        case
            when facts.n_active > thresholds.dead_active_positions
                then cast(facts.n_active as double) / nullif(facts.n_positions, 0)
        end as frequency,
        facts.effective_frequency,
        facts.contribution_max < thresholds.negligible_contribution as is_negligible,
    from store.neuron_facts as facts
    cross join thresholds
    where facts.n_positions is not null
),
layers as (
    select
        model_id,
        corpus_id,
        layer,
        max(depth) as depth,
        max(n_positions) as n_tokens_seen,
        count(*) as n_neurons,
        sum(case when never_active then 1 else 0 end) as n_never_active,
        sum(case when bound_below then 1 when not bound_below then 0 end) as n_provably_dead,
        avg(frequency) as mean_frequency,
        percentile_cont(0.25) within group (order by frequency) as frequency_25,
        median(frequency) as median_frequency,
        percentile_cont(0.75) within group (order by frequency) as frequency_75,
        median(effective_frequency) as median_effective_frequency,
        sum(case when is_negligible then 1 when not is_negligible then 0 end) as n_negligible,
    from watched
    group by model_id, corpus_id, layer
)
select
    models.name as model,
    models.family,
    models.variant,
    models.size,
    layers.layer,
    layers.depth,
    layers.n_neurons,
    cast(layers.n_never_active as bigint) as n_never_active,
    cast(layers.n_never_active as double) / layers.n_neurons as never_active_share,
    case when models.has_exact_zeros then cast(layers.n_never_active as bigint) end as n_dead,
    case when models.has_exact_zeros then cast(layers.n_never_active as double) / layers.n_neurons end as dead_share,
    case when models.has_exact_zeros then cast(layers.n_provably_dead as bigint) end as n_provably_dead,
    case
        when models.has_exact_zeros then cast(layers.n_provably_dead as double) / layers.n_neurons
    end as provably_dead_share,
    layers.mean_frequency,
    layers.frequency_25,
    layers.median_frequency,
    layers.frequency_75,
    layers.median_effective_frequency,
    cast(layers.n_negligible as bigint) as n_negligible,
    cast(layers.n_negligible as double) / layers.n_neurons as negligible_share,
    layers.n_tokens_seen,
    corpora.name as corpus,
from layers
inner join store.models as models on models.model_id = layers.model_id
inner join store.corpora as corpora on corpora.corpus_id = layers.corpus_id
