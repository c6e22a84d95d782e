"""The poles of neurons whose coefficient may have either sign, and the neurons that a search found.

A neuron of coefficient m writes m v. Negating a row of a gated layer's up projection and a column of its down
projection changes no output and exchanges what it promotes with what it suppresses: which list is which is a
convention. A search of such a model therefore asks both lists, and names the pole (ours).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from neurothek.catalog.tables.table import DOUBLE, TEXT
from neurothek.queries.ask.answer import Section, TabularAnswer
from neurothek.queries.names.models import KnownModel
from neurothek.queries.search.condition import IN_PYTHON, variants_hint

POLES: Mapping[str, pl.DataType] = {"pole": TEXT, "pole_activation": DOUBLE}
"""Columns of an answer: `pole`, the sign of the coefficient (positive, negative) at which a neuron of a gated model
does what was asked, null in other models; `pole_activation`, its coefficient of that sign that is furthest from 0 on
the shown corpus, 0 where it never has that sign."""


def with_strongest(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `pole_activation`, from `activation_min` and `activation_max`."""
    return [{**row, "pole_activation": _strongest(row)} for row in rows]


def poles_shown(neurons: pl.DataFrame) -> list[str]:
    """Those of the columns that say anything about these neurons."""
    names = [name for name in POLES if name in neurons.columns]
    return [name for name in names if neurons.get_column(name).null_count() < neurons.height]


def listed_side(row: Mapping[str, Any]) -> str:
    """The stored list that a neuron writes where it does to a word what its `side` says, at its pole."""
    if row.get("pole") != "negative":
        return str(row["side"])
    return "suppressed" if row["side"] == "promoted" else "promoted"


def at_pole(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the tokens that the neuron promotes at its pole as `top_tokens`."""
    return {**row, "top_tokens": row["bottom_tokens"] if row["pole"] == "negative" else row["top_tokens"]}


def strongest_pole(rows: Sequence[Mapping[str, Any]], model: KnownModel) -> str | None:
    """The pole at which a neuron of a gated model is strongest on the shown corpus; None in other models.

    Before any text was measured it is the pole whose scores have the longer tail.

    Args:
        rows: `leaning` of the neuron: above 0 for the positive pole.
        model: its model.
    """
    if not model.is_signed:
        return None
    return "negative" if rows and (rows[0]["leaning"] or 0) < 0 else "positive"


def _strongest(row: Mapping[str, Any]) -> float | None:
    least: float | None = row["activation_min"]
    most: float | None = row["activation_max"]
    if row["pole"] is None or least is None or most is None:
        return None
    return max(most, 0.0) if row["pole"] == "positive" else min(least, 0.0)


@dataclass(frozen=True, repr=False, kw_only=True)
class FoundNeurons(TabularAnswer):
    """The neurons that a search found, best first."""

    neurons: pl.DataFrame  # one row per neuron, with the columns of `COLUMNS` of the search's module
    n_found: int  # how many neurons there are, including those beyond the limit
    notes: tuple[str, ...]  # remarks for the person who asked, a sentence each
    left_out: tuple[str, ...] = ()  # variants that were not searched, because plain sizes are

    @property
    def title(self) -> str:
        """One line over the table."""
        raise NotImplementedError

    def table(self) -> pl.DataFrame:
        """The columns that people read."""
        raise NotImplementedError

    @property
    def first(self) -> str:
        """What the title begins with where the limit cuts the answer."""
        n_shown = self.neurons.height
        return f"the first {n_shown} of " if n_shown < self.n_found else ""

    def sections(self) -> list[Section]:
        """The table with its title."""
        return [Section(self.title, self.table())]

    def labelled(self) -> pl.DataFrame:
        """The same columns, and what was measured of each neuron in one line, as in the view `neuron_labels`."""
        return self.table().with_columns(self.neurons.get_column("label"))

    def remarks(self) -> list[str]:
        """The notes, and how to ask the variants that were left out from Python."""
        return [*self.notes, *variants_hint(self.left_out, IN_PYTHON)]
