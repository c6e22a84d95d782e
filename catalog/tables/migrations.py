"""Numbered SQL files that bring a warehouse from any earlier release to this one's schema."""

from collections.abc import Mapping
from functools import cache
from importlib import resources

import duckdb


@cache
def scripts() -> Mapping[int, str]:
    """The migrations of this release, by number."""
    folder = resources.files("neurothek.catalog.tables") / "schema"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    numbered = {int(name[:4]): folder.joinpath(name).read_text("utf-8") for name in files}
    assert len(numbered) == len(files), "two migrations have one number, and one of them would never run"
    return numbered


LATEST = max(scripts())
"""Version of the schema that this release reads and writes."""


def version_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Version of the schema in the open file; 0 where there is none."""
    try:
        versions = connection.execute("select version from store.schema_versions").fetchall()
    except duckdb.CatalogException:
        return 0
    # Python's maximum: every opening asks, and DuckDB's own takes three times as long in an instance just opened.
    return max((int(version) for (version,) in versions), default=0)


def migrate(connection: duckdb.DuckDBPyConnection, last: int = LATEST) -> bool:
    """Apply the migrations that the file lacks, each in a transaction of its own; True if there were any."""
    current = version_of(connection)
    missing = {number: script for number, script in scripts().items() if current < number <= last}
    for number in sorted(missing):
        connection.execute("begin")
        connection.execute(missing[number])
        connection.execute(
            "insert into store.schema_versions select ?, cast(now() at time zone 'UTC' as timestamp)", [number]
        )
        connection.execute("commit")
    return bool(missing)
