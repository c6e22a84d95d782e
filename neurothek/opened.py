"""A warehouse by its path: a connection is leased for each answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from catalog.store.warehouse import Warehouse


@dataclass(frozen=True)
class Opened:
    """A warehouse; it holds a path, and no connection between calls.

    Attributes:
        path: the DuckDB file.
    """

    path: Path

    @property
    def warehouse(self) -> Warehouse:
        """The door to the file, with this release's views."""
        from catalog.store.warehouse import Warehouse
        from queries.views import install as installer

        return Warehouse(self.path, views=installer)

    @contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lease a locked read-only connection for one answer.

        Raises:
            WarehouseMissing, WarehouseInvalid, WarehouseBusy: the file cannot be read.
        """
        with self.warehouse.current_reader() as connection:
            yield connection
