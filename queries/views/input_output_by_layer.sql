-- One row per model, layer and class: how many neurons write what they read, or its opposite, beside random ones.
-- Why: in the first layers of gated models neurons strengthen what they find, in later ones they weaken it.
-- From: input_output and store.input_output_controls. Source: Gerstner and Schuetze 2025; random neurons, whose vectors have the layer's spread, are ours.
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
random_neurons as (
    select
        models.name as model,
        measured.layer,
        (cast(measured.layer as double) + cast(0.5 as double)) / models.n_layers as depth,
        case
            when abs(coalesce(measured.key_value, measured.up_value)) >= thresholds.least_cosine
                then concat(
                    case when abs(measured.gate_value) < thresholds.least_cosine then 'conditional ' else '' end,
                    case when coalesce(measured.key_value, measured.up_value) > 0 then 'enrichment' else 'depletion' end
                )
            when abs(measured.gate_value) >= thresholds.least_cosine then 'proportional change'
            else 'orthogonal'
        end as io_class,
    from store.input_output_controls as measured
    cross join thresholds
    inner join store.models as models on models.model_id = measured.model_id
),
both_kinds as (
    select model, layer, depth, io_class, 1 as is_neuron from input_output where io_class is not null
    union all
    select model, layer, depth, io_class, 0 as is_neuron from random_neurons
),
counted as (
    select
        model,
        layer,
        io_class,
        max(depth) as depth,
        sum(is_neuron) as n_neurons,
        sum(1 - is_neuron) as n_random,
    from both_kinds
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
