"""A warehouse by its path: a connection is leased for each answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from catalog.files import expanded

if TYPE_CHECKING:
    import duckdb

    from catalog.store.warehouse import Warehouse


@dataclass(frozen=True, repr=False)
class Opened:
    """A warehouse; it holds a path, and no connection between calls.

    Attributes:
        path: the DuckDB file.
    """

    path: Path

    def __post_init__(self) -> None:
        """A path may be given as text."""
        object.__setattr__(self, "path", expanded(self.path))

    @property
    def warehouse(self) -> "Warehouse":
        """The door to the file, with this release's views."""
        from catalog.store.warehouse import Warehouse
        from queries.views import install as installer

        return Warehouse(self.path, views=installer)

    @contextmanager
    def reader(self) -> "Iterator[duckdb.DuckDBPyConnection]":
        """Lease a locked read-only connection for one answer.

        Raises:
            WarehouseMissing, WarehouseInvalid, WarehouseBusy: the file cannot be read.
        """
        with self.warehouse.current_reader() as connection:
            yield connection

    def __repr__(self) -> str:
        """Its path, and whether there is a file yet."""
        missing = "" if self.path.exists() else ", which does not exist yet: ingest creates it"
        return f"{type(self).__name__}({str(self.path)!r}){missing}"

    def _repr_html_(self) -> str:
        """Its path, and the models that it holds; what keeps it from being read, if anything does."""
        from catalog.errors import NeurothekError
        from queries.ask.answer import Section, html_page
        from queries.views.contents import models_frame

        if not self.path.exists():
            return html_page((), (), head=repr(self))
        try:
            with self.reader() as connection:
                models = Section("models", models_frame(connection), "there are no models in it yet")
        except NeurothekError as error:
            return html_page((), (str(error),), head=repr(self))
        return html_page((models,), (), head=repr(self))
