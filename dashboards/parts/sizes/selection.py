"""The models that a page compares, with what is read of them, and how their text is told."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl
import streamlit as st

from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.colours import model_colours
from neurothek.dashboards.widgets.figures import Data, data_of_models, data_of_query
from neurothek.dashboards.widgets.page import Theme, missing
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.ask.statements import filled
from neurothek.queries.compare.comparison import Comparison
from neurothek.queries.compare.kinds import kinds_statement


@dataclass(frozen=True)
class Sizes:
    """What the figures are drawn from."""

    reader: Reading  # what the page reads, of the corpus that was asked for or of each model's shown one
    comparison: Comparison  # the models side by side
    names: Sequence[str]  # the models, smallest first
    look: Callable[[Theme], Look]  # colours and dashes of the models in a theme
    # what was not measured: a sentence -> the jobs that measure it, and the models that lack it; filled while the page
    # is drawn
    lacking: dict[str, tuple[tuple[str, ...], list[str]]] = field(default_factory=dict)

    def data(self, name: str, text: str) -> Data:
        """Rows of a query about these models, under a name."""
        return data_of_query(self.reader, name, text, {"models": list(self.names)})

    def of_view(self, view: str, *then: str) -> Data:
        """Rows of a view about these models."""
        return data_of_models(self.reader, view, self.names, *then)

    def typology(self, part: str) -> Data:
        """Rows of the comparison about kinds of neurons, with the statement that yields them."""
        frame: pl.DataFrame = getattr(self.comparison.typology, part)
        sql = filled(kinds_statement(part), {"models": list(self.names)})
        return Data(part, sql, frame, self.reader.corpus)

    def missing(self, what: str, *jobs: str, having: Iterable[str] = ()) -> None:
        """Remember which of the models that read the text were not measured by jobs.

        Args:
            what: what is missing, a sentence without its full stop.
            jobs: names of the jobs that measure it.
            having: models that have it; where some do, the others are named.
        """
        those = set(having)
        read = set(self.comparison.layers.get_column("model"))
        absent = [name for name in self.names if name in read and name not in those]
        if absent:
            self.lacking[f"{what}: {', '.join(absent)}." if those else f"{what}."] = (jobs, absent)

    def say_what_is_missing(self) -> None:
        """Sentences on what was not measured, of the same models together, with the command that measures it."""
        if self.lacking:
            st.header("Not measured yet", anchor=False)
        by_models: dict[tuple[str, ...], dict[str, Sequence[str]]] = {}
        for what, (needed, models) in self.lacking.items():
            by_models.setdefault(tuple(models), {})[what] = needed
        for names, absent in by_models.items():
            jobs = list(dict.fromkeys(job for several in absent.values() for job in several))
            missing(self.reader.shown_connection, " ".join(absent), names, jobs=jobs, corpus=self.reader.corpus)

    @property
    def on_text(self) -> str:
        """On how many tokens the models were run, as the end of a sentence."""
        return on_tokens(self.comparison.models)


def on_tokens(models: pl.DataFrame) -> str:
    """On how many tokens models were run, as the end of a sentence: one number where it is the same for all."""
    watched = models.filter(pl.col("n_tokens_seen").is_not_null())
    numbers = dict(zip(watched.get_column("model"), watched.get_column("n_tokens_seen"), strict=True))
    if len(set(numbers.values())) == 1:
        return f"on the {next(iter(numbers.values())):,} tokens seen"
    return f"on the tokens seen ({', '.join(f'{model} {number:,}' for model, number in numbers.items())})"


def sequences(positions: pl.DataFrame) -> str:
    """On how many full-length sequences, in words."""
    return ", ".join(f"{number:,}" for number in sorted(set(positions.get_column("n_sequences").drop_nulls())))


def look_of(models: Sequence[str], comparison: Comparison) -> Callable[[Theme], Look]:
    """How the models look in a theme: colours by their place among all, dashes where they cannot be compared."""
    return lambda theme: Look(model_colours(models, theme=theme), comparison.why_not())
