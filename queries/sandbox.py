"""SQL that people type: one query that only asks, on a reader that could do nothing else."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from queries.errors import NotAQuery, NotOneQuery, QueryFailed, UnknownColumn, UnknownRelation
from queries.statement import ask

_MISSING_TABLE = re.compile(r"Table with name ([^\s!]+) does not exist")
_MISSING_COLUMN = re.compile(r'(?:Referenced column|does not have a column named) "([^"]+)"')
_CANDIDATES = re.compile(r"Candidate bindings: (.*)")
_PREFIX = re.compile(r"^[A-Z][A-Za-z ]* Error: ")


def run_query(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    most_rows: int | None = None,
) -> pl.DataFrame:
    """Run one query, values bound to its `$name`s, and return all of its rows, or the first `most_rows`.

    Raises:
        NotOneQuery: the text holds no statement or several.
        NotAQuery: the statement does more than ask.
        UnknownRelation, UnknownColumn: with the nearest names.
        QueryFailed: anything else that DuckDB objects to, in one sentence.
    """
    try:
        statement = _only_statement(connection, query)
        rows = connection.sql(statement.query, params=dict(parameters or {}))
        frame = _narrowed((rows if most_rows is None else rows.limit(most_rows)).pl())
    except duckdb.Error as error:
        raise translated(connection, error) from error
    except pl.exceptions.PolarsError as error:
        raise QueryFailed("a column's type cannot be shown; cast it to varchar") from error
    return frame


def _narrowed(frame: pl.DataFrame) -> pl.DataFrame:
    """Sums of whole numbers as 64 bits wherever they fit: few programs read DuckDB's 128."""
    for name in [name for name, dtype in frame.schema.items() if dtype == pl.Int128]:
        narrow = frame.get_column(name).cast(pl.Int64, strict=False)
        if narrow.null_count() == frame.get_column(name).null_count():
            frame = frame.with_columns(narrow)
    return frame


def translated(
    connection: duckdb.DuckDBPyConnection, error: duckdb.Error
) -> QueryFailed | UnknownColumn | UnknownRelation:
    """What DuckDB objects to, as one sentence with the nearest names where a name is unknown."""
    text = str(error)
    table = _MISSING_TABLE.search(text)
    if table:
        return UnknownRelation(table[1], known_relations(connection))
    column = _MISSING_COLUMN.search(text)
    if column:
        candidates = _CANDIDATES.search(text)
        return UnknownColumn(column[1], re.findall(r'"([^"]+)"', candidates[1]) if candidates else [])
    first, *_ = text.splitlines()
    return QueryFailed(_PREFIX.sub("", first).rstrip("!."))


def known_relations(connection: duckdb.DuckDBPyConnection) -> Sequence[str]:
    """Names of the views, then of the tables as `store.NAME`."""
    return list(ask(connection, "relations").get_column("name"))


def _only_statement(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise NotOneQuery(len(statements))
    (statement,) = statements
    if statement.type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise NotAQuery(str(statement.type).rpartition(".")[2].replace("_", " "))
    return statement
