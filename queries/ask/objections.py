"""What DuckDB objects to, told as one sentence with the nearest names of the warehouse."""

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

import duckdb

from neurothek.catalog.problems import Failed, NotFound
from neurothek.catalog.store.damage import is_damage
from neurothek.catalog.store.objects import our_tables
from neurothek.queries.ask.statements import ask_records
from neurothek.queries.errors.refused_sql import failed_query
from neurothek.queries.errors.unknown_subjects import unknown_column_among, unknown_relation

_MISSING_TABLE = re.compile(r"Table with name ([^\s!]+) does not exist")
_MISSING_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')
_CANDIDATES = re.compile(r"Candidate bindings: (.*)")
_PREFIX = re.compile(r"^[A-Z][A-Za-z ]* Error: ")


def objection(connection: duckdb.DuckDBPyConnection, error: duckdb.Error | OSError) -> Failed | NotFound:
    """What DuckDB objects to, as one sentence with the nearest names where a name is unknown."""
    if is_damage(error):
        raise error
    text = str(error)
    table = _MISSING_TABLE.search(text)
    if table:
        return unknown_relation(table[1], known_relations())
    column = _MISSING_COLUMN.search(text)
    if column:
        candidates = _CANDIDATES.search(text)
        likeliest = re.findall(r'"([^"]+)"', candidates[1]) if candidates else []
        return unknown_column_among(column[1], likeliest, known_columns(connection))
    first, *_ = text.splitlines()
    return failed_query(_PREFIX.sub("", first).rstrip("!."))


@cache
def known_relations() -> Sequence[str]:
    """Names of the views, then of the tables as `store.NAME`: those of this release, whatever else a file holds."""
    files = (file.name for file in (resources.files("neurothek.queries") / "views").iterdir())
    return [*sorted(name.removesuffix(".sql") for name in files if name.endswith(".sql")), *our_tables()]


def known_columns(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Names of the columns of all views and tables."""
    return [row["name"] for row in ask_records(connection, "column_names")]
