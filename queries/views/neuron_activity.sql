-- One row per model, layer and neuron: how active it is in numbers that ask no threshold, and which share of its FFN's output it has.
-- Why: without exact zeros every neuron is active at half of the positions or more, and none is dead; these numbers tell neurons of gated models apart, and are comparable with those of ReLU models.
-- From: store.neuron_facts, store.pole_activity, store.contributions and measured_corpora on the model's shown corpus; what the job poles measures is null before it ran. Source: effective frequency Treves and Rolls 1991; contribution CETT, Song et al. 2024; that a neuron below 0.01 is negligible, and strong, are ours.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   corpus: The shown corpus.
--   n_tokens_seen: Counted positions it was measured on.
--   gate_open: Share of the counted positions at which its gate is above 0; null in models without gates, and where its activity was counted by --active-above.
--   effective_frequency: (sum |m|)^2 / (n_tokens_seen * sum m^2): 1 where |m| is the same everywhere, 1 / n_tokens_seen where it is 0 but once; null where it is always 0.
--   root_mean_square: Root mean square of m on the first counted positions of every domain; strong is |m| > 3 times this.
--   strong_frequency: Share of the counted positions at which it is strong, at either sign.
--   negative_share: Share of the sum of |m| at m < 0, which of a gated model's neuron is a convention of its weights; null where that sum is 0.
--   minor_share: Share of the sum of |m| at the sign that has less of it: 0 of a neuron that works at one sign alone, at most 0.5.
--   contribution_mean: Mean of |m| ||v|| over the norm of the FFN's output at the position.
--   contribution_max: Largest such share.
--   contribution_mean_later: The mean without position 0.
--   contribution_max_later: The largest without position 0.
--   is_negligible: contribution_max is below 0.01: what dead is for a model without exact zeros.
with thresholds as (
    select
        cast(0.01 as double) as negligible_contribution,
),
poles as (
    select
        set_id as model_id,
        corpus_id,
        layer,
        neuron,
        sum(n_strong) as n_strong,
        sum(abs_sum) as abs_sum,
        sum(case when pole = 'negative' then abs_sum else 0 end) as negative_sum,
    from store.pole_activity
    group by set_id, corpus_id, layer, neuron
)
select
    models.name as model,
    facts.layer,
    facts.neuron,
    facts.address,
    facts.depth,
    corpora.name as corpus,
    facts.n_positions as n_tokens_seen,
    case
        when measured_corpora.activation_rule = 'gate > 0' then cast(facts.n_active as double) / nullif(facts.n_positions, 0)
    end as gate_open,
    facts.effective_frequency,
    cast(contributions.root_mean_square as double) as root_mean_square,
    cast(poles.n_strong as double) / nullif(facts.n_positions, 0) as strong_frequency,
    poles.negative_sum / nullif(poles.abs_sum, 0) as negative_share,
    least(poles.negative_sum, poles.abs_sum - poles.negative_sum) / nullif(poles.abs_sum, 0) as minor_share,
    contributions.contribution_mean,
    facts.contribution_max,
    contributions.contribution_mean_later,
    cast(contributions.contribution_max_later as double) as contribution_max_later,
    facts.contribution_max < thresholds.negligible_contribution as is_negligible,
from store.neuron_facts as facts
cross join thresholds
inner join store.models as models on models.model_id = facts.set_id
inner join store.corpora as corpora on corpora.corpus_id = facts.corpus_id
left join measured_corpora
    on measured_corpora.model_id = facts.set_id and measured_corpora.corpus_id = facts.corpus_id
left join poles
    on
        poles.model_id = facts.set_id
        and poles.corpus_id = facts.corpus_id
        and poles.layer = facts.layer
        and poles.neuron = facts.neuron
left join store.contributions as contributions
    on
        contributions.set_id = facts.set_id
        and contributions.corpus_id = facts.corpus_id
        and contributions.layer = facts.layer
        and contributions.neuron = facts.neuron
