-- One row per model, layer and class: how many neurons write what they read, or its opposite, beside random ones.
-- Why: in the first layers of gated models neurons strengthen what they find, in later ones they weaken it.
-- From: store.input_output and store.input_output_controls. Source: Gerstner and Schuetze 2025; random neurons, whose vectors have the layer's spread, are ours.
-- Kinds of rows: io_class.
-- key: model, layer, io_class
-- columns:
--   model: Name of the model.
--   layer: Layer, 0-based.
--   depth: (layer + 0.5) / n_layers.
--   io_class: enrichment, conditional enrichment, depletion, conditional depletion, proportional change or orthogonal.
--   n_neurons: Neurons of the class; classes that neither a neuron nor a random one has are left out.
--   share: n_neurons over the neurons of the layer that have a class.
--   random_share: Share of random neurons of the layer that have the class.
with thresholds as (
    select
        cast(0.5 as double) as least_cosine,
),
cosines as (
    select set_id as model_id, layer, coalesce(key_value, up_value) as read_value, key_value, gate_value, 1 as is_neuron
    from store.input_output
    union all
    select model_id, layer, coalesce(key_value, up_value) as read_value, key_value, gate_value, 0 as is_neuron
    from store.input_output_controls
),
classified as (
    -- As in input_output.
    select
        models.name as model,
        cosines.layer,
        (cast(cosines.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
        cosines.is_neuron,
        case
            when abs(cosines.read_value) >= thresholds.least_cosine
                then concat(
                    case when abs(cosines.gate_value) < thresholds.least_cosine then 'conditional ' else '' end,
                    case when cosines.read_value > 0 then 'enrichment' else 'depletion' end
                )
            when abs(cosines.gate_value) >= thresholds.least_cosine then 'proportional change'
            else 'orthogonal'
        end as io_class,
    from cosines
    cross join thresholds
    inner join store.models as models on models.model_id = cosines.model_id
    where cosines.read_value is not null and (cosines.key_value is not null or cosines.gate_value is not null)
),
counted as (
    select
        model,
        layer,
        io_class,
        max(depth) as depth,
        sum(is_neuron) as n_neurons,
        sum(1 - is_neuron) as n_random,
    from classified
    group by model, layer, io_class
)
select
    model,
    layer,
    depth,
    io_class,
    cast(n_neurons as bigint) as n_neurons,
    cast(n_neurons as double) / nullif(sum(n_neurons) over (partition by model, layer), 0) as share,
    cast(n_random as double) / nullif(sum(n_random) over (partition by model, layer), 0) as random_share,
from counted
