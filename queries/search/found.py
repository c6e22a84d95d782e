"""What every search answers: the neurons found, best first."""

from dataclasses import dataclass

import polars as pl

from neurothek.queries.ask.answer import Section, TabularAnswer
from neurothek.queries.search.scope import IN_PYTHON, variants_hint


@dataclass(frozen=True, repr=False, kw_only=True)
class FoundNeurons(TabularAnswer):
    """The neurons that a search found, best first.

    Attributes:
        neurons: one row per neuron, with the columns of `COLUMNS` of the search's module.
        n_found: how many neurons there are, including those beyond the limit.
        notes: remarks for the person who asked, a sentence each.
        left_out: variants that were not searched, because plain sizes are.
    """

    neurons: pl.DataFrame
    n_found: int
    notes: tuple[str, ...]
    left_out: tuple[str, ...] = ()

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

    def remarks(self) -> list[str]:
        """The notes, and how to ask the variants that were left out from Python."""
        return [*self.notes, *variants_hint(self.left_out, IN_PYTHON)]
