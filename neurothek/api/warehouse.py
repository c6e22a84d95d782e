"""`open`, and what it returns: a warehouse by its path, with every call about it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
    travel,
    upkeep,
)
from neurothek.catalog.advice import DEFAULT_WAREHOUSE
from neurothek.catalog.arguments import expanded, validated
from neurothek.catalog.hub.addresses import Address, Place, place_of
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
        address: of a published catalog, which stands in the place of a file; None: there is a file, or will be.
    """

    path: Path
    address: Address | None = None

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
    import_foreign = upkeep.import_foreign
    label = upkeep.label
    rename = upkeep.rename
    pin = upkeep.pin
    remove = upkeep.remove
    merge = upkeep.merge
    check = upkeep.check

    publish = travel.publish
    copy = travel.copy

    def __post_init__(self) -> None:
        """A path may be given as text."""
        if self.address is None:
            object.__setattr__(self, "path", expanded(self.path))

    def at(self, place: Place) -> "Neurothek":
        """Another warehouse or catalog, called the same way."""
        return replace(self, path=Path(place), address=place if isinstance(place, Address) else None)

    @property
    def warehouse(self) -> "Warehouse":
        """The file, with this release's views; of an address, the catalog there.

        Raises:
            Unavailable: there is no catalog at the address, or it cannot be reached.
            Unreadable: what is there is none.
        """
        from neurothek.queries.views import install as installer

        if self.address is not None:
            from neurothek.catalog.hub.catalog import open_catalog

            return open_catalog(self.address, installer)
        from neurothek.catalog.store.warehouse import Warehouse

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
        """Its path, and whether there is a file yet; of a catalog its address."""
        if self.address is not None:
            return f"{type(self).__name__}({str(self.address)!r})"
        missing = "" if self.path.exists() else ", which does not exist yet: ingest creates it"
        return f"{type(self).__name__}({str(self.path)!r}){missing}"

    def _repr_html_(self) -> str:
        """Its path, and the models that it holds; what keeps it from being read, if anything does."""
        from neurothek.queries.ask.answer import Section, html_page
        from neurothek.queries.views.contents import models_frame

        if self.address is None and not self.path.exists():
            return html_page((), (), head=repr(self))
        try:
            with self.reader() as connection:
                models = Section("models", models_frame(connection), "there are no models in it yet")
        except NeurothekError as error:
            return html_page((), (str(error),), head=repr(self))
        return html_page((models,), (), head=repr(self))


@validated
def open(path: str | Path | None = None) -> Neurothek:  # noqa: A001 - neurothek.open reads as what it does
    """A warehouse, by its path, or a published catalog, by its address; it is not opened before the first call.

    A warehouse that does not exist yet says so and answers no queries; `ingest`, `import_` and `merge` create it.
    A catalog is only read, and of its files only what a question needs: `copy` brings all of it into a file.

    Args:
        path: the DuckDB file; a folder that `publish` wrote; an address such as "hf://datasets/ORG/NAME", "s3://...",
            "https://..."; None: the variable NEUROTHEK_WAREHOUSE, else ./neurothek.duckdb.

    Raises:
        Invalid: that is neither a path nor an address.
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
    place = place_of(path or os.environ.get("NEUROTHEK_WAREHOUSE") or DEFAULT_WAREHOUSE)
    return Neurothek(Path(place), place if isinstance(place, Address) else None)
