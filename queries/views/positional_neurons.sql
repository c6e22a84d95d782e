-- One row per model, layer and neuron that is positional on the shown corpus, or that the corpus cannot label.
-- Why: neurons whose activity depends on the position in the sequence whatever the token. In models without exact zeros it
-- is strong activity at the pole at which the neuron is strongest (ours), see the definitions. From: neurons, for the labels and
-- their thresholds, store.neuron_facts and store.positions. Source: Voita et al. 2023, section 5; kinds, strength and the
-- correction of the bias are ours.
-- Kinds of rows: position_kind, too few sequences where the neuron cannot be classified.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   position_kind: oscillatory, both extremes, one extreme, other, or too few sequences.
--   position_strength: strong, weak, or too few sequences.
--   why_not: Why the corpus cannot label the neuron; null where it can.
--   mutual_information: Between position and being active, in nats, as counted.
--   mutual_information_corrected: The same minus the bias of chance; above 0.05 the neuron is positional.
--   domain_agreement: Smallest corrected mutual information of a domain that has enough sequences; null if none has.
--   n_sequences: Full-length sequences behind the row.
--   n_switches: Alternations of on-runs and off-runs in the order of positions.
--   n_on_runs: Long stretches of positions at which it nearly always fires.
--   n_off_runs: Long stretches of positions at which it hardly ever fires.
--   weakest_on: Smallest frequency of an on-run; null where there is none.
--   weakest_off: Largest frequency of an off-run; null where there is none.
--   roughness: How far frequencies lie from the mean of their neighbours, beyond counting noise.
--   frequency: Share of the counted positions at which it was active, in sequences of any length.
--   corpus: The shown corpus.
with thresholds as (
    select cast(100 as bigint) as least_sequences,
),
domains as (
    select
        positions.set_id as model_id,
        positions.corpus_id,
        positions.layer,
        positions.neuron,
        min(positions.mutual_information_corrected) as domain_agreement,
    from store.positions as positions
    cross join thresholds
    where positions.domain <> 'all' and positions.n_sequences >= thresholds.least_sequences
    group by positions.set_id, positions.corpus_id, positions.layer, positions.neuron
)
select
    neurons.model,
    neurons.layer,
    neurons.neuron,
    neurons.address,
    neurons.depth,
    neurons.position_kind,
    neurons.position_strength,
    case
        when neurons.position_kind = 'too few sequences'
            then concat_ws(
                ' ',
                cast(neurons.n_position_sequences as varchar),
                'full-length sequences, at least',
                cast(thresholds.least_sequences as varchar),
                'are needed'
            )
    end as why_not,
    neurons.mutual_information,
    neurons.mutual_information_corrected,
    domains.domain_agreement,
    neurons.n_position_sequences as n_sequences,
    facts.n_switches,
    facts.n_on_runs,
    facts.n_off_runs,
    facts.weakest_on,
    facts.weakest_off,
    facts.roughness,
    neurons.frequency,
    neurons.corpus,
from neurons
inner join store.models as models on models.name = neurons.model
inner join store.neuron_facts as facts
    on facts.set_id = models.model_id and facts.layer = neurons.layer and facts.neuron = neurons.neuron
left join domains
    on domains.model_id = facts.set_id
    and domains.corpus_id = facts.corpus_id
    and domains.layer = facts.layer
    and domains.neuron = facts.neuron
cross join thresholds
where neurons.position_kind <> 'not positional'
