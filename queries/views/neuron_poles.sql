-- One row per model, layer, neuron and pole: how often and how strongly its coefficient has that sign, and what it writes then.
-- Why: a neuron of coefficient m writes m v, so that below 0 it promotes what stands at the bottom of its list; a neuron of a gated model may do so most of the time.
-- From: store.pole_activity on the model's shown corpus, filled by the job poles, which models with coefficients of one sign do not have. Source: this project; strong is |m| > 3 root mean squares of the neuron.
-- Kinds of rows: pole.
-- key: model, layer, neuron, pole
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   pole: Sign of the coefficient: positive or negative.
--   corpus: The shown corpus.
--   promotes: Text of the first ten tokens it promotes at coefficients of this sign, best first.
--   n_tokens_seen: Counted positions it was measured on.
--   n_active: Counted positions at which its coefficient has this sign.
--   frequency: n_active / n_tokens_seen.
--   n_strong: Counted positions at which it is strong with this sign.
--   strong_frequency: n_strong / n_tokens_seen.
--   abs_share: Share that the pole has of the sum of |m|; null where that is 0.
--   mean_magnitude: Mean of |m| over the positions of this sign; null where there are none.
--   largest: Largest |m| of this sign; 0 where there is none.
with poles as (
    select
        set_id as model_id,
        corpus_id,
        layer,
        neuron,
        pole,
        sum(n_active) as n_active,
        sum(n_strong) as n_strong,
        sum(abs_sum) as abs_sum,
        max(largest) as largest,
    from store.pole_activity
    group by set_id, corpus_id, layer, neuron, pole
)
select
    models.name as model,
    facts.layer,
    facts.neuron,
    facts.address,
    facts.depth,
    cast(poles.pole as varchar) as pole,
    corpora.name as corpus,
    case when poles.pole = 'negative' then facts.bottom_tokens else facts.top_tokens end as promotes,
    facts.n_positions as n_tokens_seen,
    cast(poles.n_active as bigint) as n_active,
    cast(poles.n_active as double) / nullif(facts.n_positions, 0) as frequency,
    cast(poles.n_strong as bigint) as n_strong,
    cast(poles.n_strong as double) / nullif(facts.n_positions, 0) as strong_frequency,
    poles.abs_sum / nullif(
        sum(poles.abs_sum) over (partition by poles.model_id, poles.corpus_id, poles.layer, poles.neuron), 0
    ) as abs_share,
    poles.abs_sum / nullif(cast(poles.n_active as double), 0) as mean_magnitude,
    cast(poles.largest as double) as largest,
from store.neuron_facts as facts
inner join poles
    on
        poles.model_id = facts.set_id
        and poles.corpus_id = facts.corpus_id
        and poles.layer = facts.layer
        and poles.neuron = facts.neuron
inner join store.models as models on models.model_id = facts.set_id
inner join store.corpora as corpora on corpora.corpus_id = facts.corpus_id
