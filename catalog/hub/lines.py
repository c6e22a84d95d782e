"""What stands beside neurons in lists, in one narrow file of a catalog: twenty neurons are read for a megabyte or two.

The table `neuron_facts` has seventy columns, among them lists, of which DuckDB reads a megabyte each, however short
they are; here lists are texts, and a row group is one part.
"""

from __future__ import annotations

from collections.abc import Mapping

from neurothek.catalog.exchange.manifest import ExportedColumn

LINES = "neuron_lines"
"""Name of the relation, beside the views of a catalog."""

UNIT = "(cast({set_id} as bigint) * 65536 + {layer}) * 4294967296 + {neuron}"
"""The number by which neurons are sorted and found, in SQL: of three numbers, each would be looked for alone."""

COLUMNS: Mapping[str, tuple[str, str]] = {
    "unit": ("BIGINT", "Number of the neuron among all: (set_id * 65536 + layer) * 4294967296 + neuron."),
    "model": ("VARCHAR", "Name of the model."),
    "layer": ("SMALLINT", "Layer, 0-based."),
    "neuron": ("INTEGER", "Neuron within the layer, 0-based."),
    "depth": ("DOUBLE", "(layer + 0.5) / n_layers."),
    "corpus_id": ("INTEGER", "The shown corpus; null before the activity on a text was measured."),
    "corpus": ("VARCHAR", "Its name."),
    "n_active": ("BIGINT", "Counted positions at which it was active."),
    "n_positions": ("BIGINT", "Counted positions it was measured on."),
    "activation_min": ("FLOAT", "Smallest coefficient."),
    "activation_max": ("FLOAT", "Largest coefficient."),
    "pole": ("VARCHAR", "Sign of the coefficient at which it is strongest; null but in gated models."),
    "n_listed": ("INTEGER", "How many tokens its lists have."),
    "top_tokens": ("VARCHAR", "Texts of the first ten tokens that it promotes, as JSON."),
    "bottom_tokens": ("VARCHAR", "Texts of the first ten tokens that it suppresses, as JSON."),
    "label": ("VARCHAR", "What was measured of it, in one line."),
}
"""Column -> type and description."""

_EXPRESSIONS: Mapping[str, str] = {
    "unit": UNIT.format(set_id="facts.set_id", layer="facts.layer", neuron="facts.neuron"),
    "model": "neurons.model",
    "corpus": "neurons.corpus",
    "pole": "neurons.pole",
    "n_listed": "len(projections.top_token_ids)",
    "top_tokens": "to_json(facts.top_tokens)",
    "bottom_tokens": "to_json(facts.bottom_tokens)",
    "label": "labels.label",
}

_SOURCE = """
    store.neuron_facts as facts
    inner join store.models as models on models.model_id = facts.set_id
    inner join neurons
        on neurons.model = models.name and neurons.layer = facts.layer and neurons.neuron = facts.neuron
    left join neuron_labels as labels
        on labels.model = models.name and labels.layer = facts.layer and labels.neuron = facts.neuron
    left join store.projections as projections
        on
            projections.set_id = facts.set_id
            and projections.layer = facts.layer
            and projections.neuron = facts.neuron
"""

_FEWEST_ROWS, _MOST_ROWS, _GROUPS = 1_024, 4_096, 256
"""Of a row group, and how many groups there should be: twenty neurons lie in as many, and two hundred in two thirds of
256, which is how many requests ten searches make."""

DESCRIPTION = "One row per neuron: what stands beside it where neurons are listed."

QUERY = "select {} from {} order by unit".format(
    ", ".join(
        f"cast({_EXPRESSIONS.get(name, f'facts.{name}')} as {kind}) as {name}" for name, (kind, _) in COLUMNS.items()
    ),
    _SOURCE,
)
"""Computes the rows, of the tables and views of a catalog."""


def rows_of_group(n_neurons: int) -> int:
    """Rows of a row group, a power of two."""
    return min(_MOST_ROWS, max(_FEWEST_ROWS, 1 << (max(1, n_neurons // _GROUPS) - 1).bit_length()))


def exported_columns() -> dict[str, ExportedColumn]:
    """The columns as a manifest describes them."""
    return {name: ExportedColumn(kind, text, is_nullable=True) for name, (kind, text) in COLUMNS.items()}
