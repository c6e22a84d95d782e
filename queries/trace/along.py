"""One neuron's activation on each token of a prompt, and where that is in its activations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from neurothek.catalog.spelling import visible
from neurothek.catalog.tables.table import FLOAT, INTEGER, TEXT
from neurothek.catalog.tables.traces import PromptActivations
from neurothek.queries.ask.answer import Section, TabularAnswer
from neurothek.queries.names.neurons import NeuronAddress

ALONG_COLUMNS: Mapping[str, pl.DataType] = {"position": INTEGER, "token": TEXT, "activation": FLOAT}


@dataclass(frozen=True, repr=False)
class AlongPage(TabularAnswer):
    """One neuron's activation on each token of a prompt.

    Attributes:
        address: the neuron's address.
        tokens: one row per position, a prepended BOS included, with the columns of `ALONG_COLUMNS`.
    """

    address: str
    tokens: pl.DataFrame

    @property
    def summary(self) -> str:
        """Where it is strongest."""
        place = self.tokens.get_column("activation").abs().arg_max() or 0
        strongest = self.tokens.row(place, named=True)
        if not strongest["activation"]:
            return f"{self.address} is 0 on all {self.tokens.height} tokens."
        where = f"{visible(strongest['token'])} (position {strongest['position']})"
        return f"{self.address} is strongest on {where}: {strongest['activation']:.3g}."

    def sections(self) -> list[Section]:
        """The tokens."""
        return [Section("activations", self.tokens)]

    def data(self) -> dict[str, Any]:
        """The activations for programs: `tokens`, and `along` with the rest."""
        return {"along": {"address": self.address}, "tokens": self.tokens}


def along_page(neuron: NeuronAddress, found: PromptActivations) -> AlongPage:
    """The answer about a neuron."""
    rows = zip(range(len(found.tokens)), found.tokens, found.activations, strict=True)
    return AlongPage(str(neuron), pl.DataFrame(list(rows), schema=dict(ALONG_COLUMNS), orient="row"))
