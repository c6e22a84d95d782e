"""The table of universality: how closely a neuron's activations follow those of any neuron of another model."""

from neurothek.catalog.tables.table import (
    CORPUS,
    DOUBLE,
    INTEGER,
    LAYER,
    NEURON,
    OTHER_SET,
    RUN,
    SET,
    SMALL,
    Column,
    Order,
    Table,
)

_BY_CORRELATION = Order("correlation", within=("layer", "neuron"))

UNIVERSALITY = Table(
    "universality",
    "One row per neuron, other model and corpus: the neuron of the other model, of the same tokenizer, whose "
    "activations correlate most with its own on the same positions (Gurnee et al. 2024).",
    scope="pair_corpus",
    key=("layer", "neuron"),
    since=36,
    columns={
        "set_id": SET,
        "other_set_id": OTHER_SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "other_layer": Column(
            SMALL,
            "Layer of that neuron; null where this one's activation is the same at all positions, and where that holds "
            "of every neuron of the other model.",
            nullable=True,
            order=_BY_CORRELATION,
        ),
        "other_neuron": Column(
            INTEGER,
            "That neuron within its layer; ties by layer, then neuron; null likewise.",
            nullable=True,
            order=_BY_CORRELATION,
        ),
        "correlation": Column(
            DOUBLE,
            "Pearson correlation of the two neurons' activations, the largest of all neurons of the other model: where "
            "either model is gated, the largest by size, with its sign; null likewise.",
            nullable=True,
        ),
        "null_correlation": Column(
            DOUBLE,
            "The largest with the directions that a random rotation makes of the activations of each layer of the "
            "other model: where either model is gated, by size and without a sign; null likewise.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)

JOB_TABLES = {"universality": (UNIVERSALITY,)}
