-- One row per model, layer, neuron and case: how often the gate and the up projection of a gated neuron have which signs.
-- Why: the same coefficient comes about in two ways; a neuron whose coefficients mostly come from a closed gate is not one that fires.
-- From: store.gate_cases on the model's shown corpus. Source: Gerstner and Schuetze 2025; only gated models have rows.
-- Kinds of rows: gate_case.
-- key: model, layer, neuron, gate_case
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   corpus: The shown corpus.
--   gate_case: g+u+, g+u-, g-u+ or g-u-: signs of the gate's pre-activation and of up; their product is the sign of m.
--   n_positions: Counted positions of the case.
--   frequency: Share of the counted positions.
--   mean_magnitude: Mean of |m| over the positions of the case; null where there are none.
--   abs_share: Share that the case has of the sum of |m|; null where that is 0.
select
    models.name as model,
    facts.layer,
    facts.neuron,
    facts.address,
    facts.depth,
    corpora.name as corpus,
    cast(cases.gate_case as varchar) as gate_case,
    cases.n_positions,
    cast(cases.n_positions as double) / nullif(facts.n_positions, 0) as frequency,
    cases.abs_sum / nullif(cast(cases.n_positions as double), 0) as mean_magnitude,
    cases.abs_sum / nullif(
        sum(cases.abs_sum) over (partition by cases.set_id, cases.corpus_id, cases.layer, cases.neuron), 0
    ) as abs_share,
from store.neuron_facts as facts
inner join store.gate_cases as cases
    on
        cases.set_id = facts.set_id
        and cases.corpus_id = facts.corpus_id
        and cases.layer = facts.layer
        and cases.neuron = facts.neuron
inner join store.models as models on models.model_id = facts.set_id
inner join store.corpora as corpora on corpora.corpus_id = facts.corpus_id
