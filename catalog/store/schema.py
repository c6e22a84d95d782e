"""The schema `store`: all tables of a warehouse, and the version of them that a file has."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import duckdb

from neurothek.catalog.tables import versions

if TYPE_CHECKING:
    from neurothek.catalog.tables.table import Table


@cache
def statements(version: int) -> tuple[str, ...]:
    """SQL that makes the tables of a version of the schema.

    No primary, unique or foreign keys: they make the file seven times larger and replacing rows impossible; frames are
    checked before staging, and `neurothek check` proves the keys.
    """
    return ("create schema store", *(each for table in _tables() for each in table.statements(version)))


def create(connection: duckdb.DuckDBPyConnection, version: int | None = None) -> None:
    """Make the tables in an empty database, in one transaction."""
    version = versions.VERSION if version is None else version
    _apply(connection, statements(version), version)


def bring_up_to_date(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables, or add what later versions brought to those of an earlier one."""
    held = version_of(connection)
    if held == 0:
        create(connection)
        return
    for version in range(held + 1, versions.VERSION + 1):
        _apply(connection, [each for table in _tables() for each in table.additions(version)], version)


def version_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Version of the schema in the open file; 0 where there is none."""
    try:
        applied = connection.execute("select version from store.schema_versions").fetchall()
    except duckdb.CatalogException:
        return 0
    # Python's maximum: every opening asks, and DuckDB's own takes three times as long in an instance just opened.
    return max((int(version) for (version,) in applied), default=0)


def _apply(connection: duckdb.DuckDBPyConnection, changes: Iterable[str], version: int) -> None:
    connection.execute("begin")
    connection.execute(";".join(changes))
    connection.execute(
        "insert into store.schema_versions select ?, cast(now() at time zone 'UTC' as timestamp)", [version]
    )
    connection.execute("commit")


def _tables() -> "tuple[Table, ...]":
    # Frames take longer to load than a file to open, and only who makes or changes tables needs their declarations.
    from neurothek.catalog.tables import registry  # noqa: PLC0415

    return registry.ALL
