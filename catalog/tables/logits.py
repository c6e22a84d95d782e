"""The table of how scores spread over the whole vocabulary."""

from catalog.tables.table import IDS, INTEGER, SMALL, Table

LOGIT_HISTOGRAMS = Table(
    name="logit_histograms",
    scope="model",
    key=("layer", "neuron"),
    columns={"layer": SMALL, "neuron": INTEGER, "counts": IDS},
    is_later=True,
)
