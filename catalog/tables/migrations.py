"""Numbered SQL files that bring a warehouse from any earlier release to this one's schema."""

from importlib import resources

import duckdb


def _scripts() -> dict[int, str]:
    folder = resources.files("catalog.tables") / "schema"
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    scripts = {int(file.name[:4]): file.read_text("utf-8") for file in files}
    assert len(scripts) == len(files), "two migrations have one number, and one of them would never run"
    return scripts


LATEST = max(_scripts())
"""Version of the schema that this release reads and writes."""


def version_of(connection: duckdb.DuckDBPyConnection) -> int:
    """Version of the schema in the open file; 0 where there is none."""
    try:
        versions = connection.execute("select version from store.schema_versions").fetchall()
    except duckdb.CatalogException:
        return 0
    # Python's maximum: every opening asks, and DuckDB's own takes three times as long in an instance just opened.
    return max((int(version) for (version,) in versions), default=0)


def migrate(connection: duckdb.DuckDBPyConnection) -> bool:
    """Apply the migrations that the file lacks, each in a transaction of its own; True if there were any."""
    current = version_of(connection)
    missing = {number: script for number, script in _scripts().items() if number > current}
    for number in sorted(missing):
        connection.execute("begin")
        connection.execute(missing[number])
        connection.execute(
            "insert into store.schema_versions select ?, cast(now() at time zone 'UTC' as timestamp)", [number]
        )
        connection.execute("commit")
    return bool(missing)
