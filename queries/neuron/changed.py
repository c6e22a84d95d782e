"""What changing one neuron did to the loss of its model, alone or with others, beside random neurons."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, TEXT
from neurothek.queries.ask.answer import Section, first_of
from neurothek.queries.ask.statements import ask_records, framed
from neurothek.queries.names.neurons import NeuronAddress

INTERVENTION_COLUMNS: Mapping[str, pl.DataType] = {
    "intervention": TEXT,
    "n_neurons": INTEGER,
    "effect": DOUBLE,
    "percentile": DOUBLE,
    "random_effect": DOUBLE,
    "random_effect_least": DOUBLE,
    "random_effect_most": DOUBLE,
    "n_tokens": BIG,
}
MOST_LISTED = 10
"""Interventions that a page lists."""

INTERVENTIONS_REMARK = (
    "effect: what changing all their neurons adds to the loss, nats a token; random: the same for random sets of as"
    f" many neurons; percentile: percent of these sets whose effect is smaller, of {LEAST_SETS} or more"
)


@dataclass(frozen=True)
class Changed:
    """What changing one neuron did; empty where it was not changed."""

    # what turning it off alone did, with the keys of `INTERVENTION_COLUMNS` from `effect` on; None where that was not
    # measured
    alone: Mapping[str, Any] | None
    # the interventions that it was part of, the largest effect first, with the columns of `INTERVENTION_COLUMNS`
    together: pl.DataFrame

    def sentence(self) -> str:
        """What the neuron alone is worth; nothing where that was not measured."""
        if self.alone is None:
            return ""
        row = self.alone
        clause = f"Turned off alone, it changes the loss by {row['effect']:+.3g} nats a token"
        if row["random_effect_least"] is None:
            return f"{clause}; its layer has no random neurons to compare it with."
        others = f"({row['random_effect_least']:+.3g} to {row['random_effect_most']:+.3g})"
        if row["percentile"] is None:
            return f"{clause}; its layer has fewer than {LEAST_SETS} random neurons to compare it with {others}."
        return f"{clause}: percentile {row['percentile']:.3g} among random neurons of its layer {others}."

    def sections(self) -> list[Section]:
        """The interventions that it was part of."""
        if self.together.is_empty():
            return []
        table = self.together.drop("n_tokens")
        return [first_of("interventions that included it", table, MOST_LISTED, INTERVENTIONS_REMARK)]


def neuron_changed(
    connection: duckdb.DuckDBPyConnection, neuron: NeuronAddress, facts: Mapping[str, Any], has: Collection[str]
) -> Changed:
    """What changing a neuron did; asked only where its facts or its rows say that something was measured."""
    parameters = {
        "model": neuron.model,
        "model_id": neuron.model_id,
        "layer": neuron.layer,
        "neuron": neuron.neuron,
    }
    is_changed = facts["effect_on_loss"] is not None or "interventions" in has
    rows = ask_records(connection, "neuron_changed", parameters) if is_changed else []
    alone = [row for row in rows if row["intervention"] is None]
    together = [row for row in rows if row["intervention"] is not None]
    for row in alone:
        del row["intervention"], row["n_neurons"]
    return Changed(alone[0] if alone else None, framed(together, INTERVENTION_COLUMNS))
