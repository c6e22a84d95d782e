"""`open`, and what it returns: a warehouse by its path, with every call about it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.api import (
    answers,
    attribution,
    contents,
    contrasts,
    explanations,
    interventions,
    measurements,
    prompts,
    upkeep,
)
from neurothek.catalog.advice import DEFAULT_WAREHOUSE
from neurothek.catalog.arguments import expanded, validated
from neurothek.catalog.problems import NeurothekError

if TYPE_CHECKING:
    import duckdb

    from neurothek.catalog.store.warehouse import Warehouse

__version__ = "0.1.0"


@dataclass(frozen=True, repr=False)
class Neurothek:
    """A warehouse to query; it holds a path, and no connection between calls.

    Attributes:
        path: the DuckDB file.
    """

    path: Path

    sql = answers.sql
    ask = answers.ask
    explain = answers.explain
    search = answers.search
    answer = answers.answer
    score = answers.score
    neuron = answers.neuron
    compare = answers.compare
    claims = answers.claims

    models = contents.models
    corpora = contents.corpora
    runs = contents.runs
    schema = contents.schema

    trace = prompts.trace
    trace_grid = prompts.trace_grid
    activations = prompts.activations
    switch = prompts.switch
    switch_together = prompts.switch_together
    shortcut = prompts.shortcut
    contrast = contrasts.contrast
    attribute = attribution.attribute

    ingest = measurements.ingest
    plan = measurements.plan
    lacking = measurements.lacking
    verify = measurements.verify

    plan_intervention = interventions.plan_intervention
    run_intervention = interventions.run_intervention

    plan_explanations = explanations.plan_explanations
    explain_neurons = explanations.explain_neurons
    explained = explanations.explained

    draw_neuron = upkeep.draw_neuron
    draw_comparison = upkeep.draw_comparison
    annotate = upkeep.annotate
    annotate_by_rules = upkeep.annotate_by_rules
    reproduce = upkeep.reproduce
    export = upkeep.export
    import_ = upkeep.import_
    label = upkeep.label
    rename = upkeep.rename
    pin = upkeep.pin
    remove = upkeep.remove
    merge = upkeep.merge
    check = upkeep.check

    def __post_init__(self) -> None:
        """A path may be given as text."""
        object.__setattr__(self, "path", expanded(self.path))

    @property
    def warehouse(self) -> "Warehouse":
        """The file, with this release's views."""
        from neurothek.catalog.store.warehouse import Warehouse
        from neurothek.queries.views import install as installer

        return Warehouse(self.path, views=installer)

    @contextmanager
    def reader(self) -> "Iterator[duckdb.DuckDBPyConnection]":
        """Lease a locked read-only connection for one answer.

        Raises:
            Unavailable: there is no file.
            Unreadable: it cannot be read as a warehouse.
            Busy: others hold it.
        """
        with self.warehouse.current_reader() as connection:
            yield connection

    def __repr__(self) -> str:
        """Its path, and whether there is a file yet."""
        missing = "" if self.path.exists() else ", which does not exist yet: ingest creates it"
        return f"{type(self).__name__}({str(self.path)!r}){missing}"

    def _repr_html_(self) -> str:
        """Its path, and the models that it holds; what keeps it from being read, if anything does."""
        from neurothek.queries.ask.answer import Section, html_page
        from neurothek.queries.views.contents import models_frame

        if not self.path.exists():
            return html_page((), (), head=repr(self))
        try:
            with self.reader() as connection:
                models = Section("models", models_frame(connection), "there are no models in it yet")
        except NeurothekError as error:
            return html_page((), (str(error),), head=repr(self))
        return html_page((models,), (), head=repr(self))


@validated
def open(path: str | Path | None = None) -> Neurothek:  # noqa: A001 - neurothek.open reads as what it does
    """A warehouse, by its path; the file is not opened before the first call.

    A warehouse that does not exist yet says so and answers no queries; `ingest`, `import_` and `merge` create it.

    Args:
        path: the DuckDB file; None: that of the variable NEUROTHEK_WAREHOUSE, else ./neurothek.duckdb.

    Raises:
        Invalid: that is not a path.
        Unreadable: no file can have that path.

    Example:
        >>> neurothek.open("neurothek.duckdb")
        Neurothek('neurothek.duckdb')
        >>> neurothek.open("none.duckdb")
        Neurothek('none.duckdb'), which does not exist yet: ingest creates it
        >>> neurothek.open("none.duckdb").sql("select * from models")
        Traceback (most recent call last):
        ...
        neurothek.catalog.problems.Unavailable: there is no warehouse at ...
    """
    return Neurothek(expanded(path or os.environ.get("NEUROTHEK_WAREHOUSE") or DEFAULT_WAREHOUSE))
