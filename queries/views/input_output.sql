-- One row per model, layer and neuron: how what it reads lies to what it writes, and the class that this makes.
-- Why: a neuron that writes what it reads strengthens it in the stream, one that writes its opposite takes it out; in a gated model the gate may ask for something else.
-- From: store.input_output, filled by the job keys; vectors that read are taken times the gain of the norm before the FFN. Source: Gerstner and Schuetze 2025, whose names and bound these are; that a class takes no note of how the gate lies to up is ours.
-- key: model, layer, neuron
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   neuron: Neuron within the layer, 0-based.
--   address: Address of the neuron, e.g. opt-125m/L3N1702.
--   depth: (layer + 0.5) / n_layers.
--   key_value: Cosine of the key with the value vector; null in gated models.
--   up_value: Cosine of up with the value vector, which no convention of signs changes; null in models without gates.
--   gate_value: Cosine of the gate with the value vector, whose sign is a convention; null in models without gates.
--   gate_up: Cosine of the gate with up, whose sign is a convention; null in models without gates.
--   io_class: enrichment (writes what it reads) or depletion (its opposite), conditional where the gate reads something else; proportional change (the gate reads what is written, up does not); orthogonal (neither); null where a vector is 0.
with thresholds as (
    select
        cast(0.5 as double) as least_cosine,
)
select
    models.name as model,
    measured.layer,
    measured.neuron,
    concat(models.name, '/L', measured.layer, 'N', measured.neuron) as address,
    (cast(measured.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
    measured.key_value,
    measured.up_value,
    measured.gate_value,
    measured.gate_up,
    case
        when coalesce(measured.key_value, measured.up_value) is null then null
        when measured.key_value is null and measured.gate_value is null then null
        when abs(coalesce(measured.key_value, measured.up_value)) >= thresholds.least_cosine
            then concat(
                case when abs(measured.gate_value) < thresholds.least_cosine then 'conditional ' else '' end,
                case when coalesce(measured.key_value, measured.up_value) > 0 then 'enrichment' else 'depletion' end
            )
        when abs(measured.gate_value) >= thresholds.least_cosine then 'proportional change'
        else 'orthogonal'
    end as io_class,
from store.input_output as measured
cross join thresholds
inner join store.models as models on models.model_id = measured.set_id
