"""What is measured: sets of units that read a model and write to it. The neurons of its feed-forward layers are one."""

from neurothek.catalog.tables.table import BIG, FLAG, INTEGER, LAYER, MODEL, TEXT, Column, Table

UNIT_SETS = Table(
    "unit_sets",
    "One row per set of units of a model. The neurons of its feed-forward layers are the set that has the model's own "
    "number.",
    key=("set_id",),
    since=29,
    columns={
        "set_id": Column(INTEGER, "Number of the set in this file; of a model's neurons, the model's."),
        "model_id": MODEL,
        "name": Column(TEXT, "Name of the set among those of its model; of the neurons, ffn."),
        "kind": Column(TEXT, "What its units are: ffn, the neurons of the feed-forward layers."),
        "source": Column(TEXT, "Where its weights came from; null where they are the model's own.", nullable=True),
        "revision": Column(TEXT, "Revision of that source, if any.", nullable=True),
        "weights_sha256": Column(TEXT, "sha256 of its weights; null where they are the model's own.", nullable=True),
        "reads": Column(TEXT, "Where its units read the model, e.g. ffn_input."),
        "writes": Column(TEXT, "Where they write to it, e.g. ffn_output."),
        "nonlinearity": Column(TEXT, "What makes a unit's activation of its pre-activation, e.g. relu, silu."),
        "rule": Column(TEXT, "When a unit counts as active, unless a run says otherwise, e.g. m != 0."),
        "has_exact_zeros": Column(FLAG, "Whether a unit that is off has the activation 0 exactly."),
        "is_signed": Column(FLAG, "Whether an activation may be strong at either sign, as those of gated layers are."),
    },
    filling="""
        insert into store.unit_sets by name
        select
            model_id as set_id,
            model_id,
            'ffn' as name,
            'ffn' as kind,
            null as source,
            null as revision,
            null as weights_sha256,
            'ffn_input' as reads,
            'ffn_output' as writes,
            activation as nonlinearity,
            activation_rule as rule,
            has_exact_zeros,
            starts_with(activation_rule, 'gate') as is_signed,
        from store.models
        where model_id not in (select set_id from store.unit_sets)
        order by model_id
    """,
)
UNIT_LAYERS = Table(
    "unit_layers",
    "One row per set of units and layer: how many there are. Layers may differ in width, and a set may lack some.",
    key=("set_id", "layer"),
    since=29,
    columns={
        "set_id": Column(INTEGER, "The set of units."),
        "layer": LAYER,
        "n_units": Column(INTEGER, "Units of the layer."),
        "first_unit": Column(BIG, "Units of the set in the layers below."),
    },
    filling="""
        insert into store.unit_layers by name
        select
            models.model_id as set_id,
            layers.layer::smallint as layer,
            models.d_ffn as n_units,
            layers.layer * models.d_ffn::bigint as first_unit,
        from store.models as models, unnest(range(models.n_layers)) as layers(layer)
        where models.model_id not in (select set_id from store.unit_layers)
        order by set_id, layer
    """,
)

SETS: tuple[Table, ...] = (UNIT_SETS, UNIT_LAYERS)
"""The tables that say what is measured."""
