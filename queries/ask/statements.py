"""The questions that commands ask, the long ones SQL files of the room that asks; Python binds values and runs them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    import polars as pl

_PARSED: dict[str, duckdb.Statement] = {}
_MOST_PARSED = 512
"""More than all of ours: people's conditions on neurons make new ones without end."""


@cache
def statement(name: str, package: str = "queries") -> str:
    """Text of `statements/NAME.sql`, in whichever room of the package it lies."""
    for room in resources.files(f"neurothek.{package}").iterdir():
        file = room.joinpath("statements", f"{name}.sql")
        if file.is_file():
            return file.read_text("utf-8")
    raise LookupError(f"no room of {package} has the statement {name}")


def ask(connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Run a statement by its name, with values bound to its parameters, for many rows."""
    return frame_of(connection, statement(name), parameters)


def frame_of(
    connection: duckdb.DuckDBPyConnection, text: str, parameters: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """Run one query for many rows."""
    _note(text, parameters)
    from neurothek.catalog.store.frames import as_frame  # noqa: PLC0415 - with polars, see framed

    return as_frame(connection.sql(text, params=dict(parameters or {})))


def ask_records(
    connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Run a statement by its name for a few rows."""
    return records(connection, statement(name), parameters)


def records(
    connection: duckdb.DuckDBPyConnection, text: str, parameters: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Run one query for a few rows."""
    _note(text, parameters)
    result = connection.execute(parsed(connection, text), dict(parameters or {}))
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def parsed(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """The one statement of a text; DuckDB reads a long one for milliseconds, so those read before are kept."""
    kept_statement = _PARSED.get(text)
    if kept_statement is None:
        (kept_statement,) = connection.extract_statements(text)
        if len(_PARSED) >= _MOST_PARSED:
            _PARSED.clear()
        _PARSED[text] = kept_statement
    return kept_statement


@dataclass(frozen=True)
class ExecutedStatement:
    """A statement as it was run."""

    text: str  # the statement
    parameters: Mapping[str, Any]  # the values bound to its `$name`s

    @property
    def sql(self) -> str:
        """The statement with its values written out, to be read, changed and run."""
        return filled(self.text, self.parameters)


_EXECUTED: ContextVar[list[ExecutedStatement] | None] = ContextVar("_EXECUTED", default=None)


@contextmanager
def recorded() -> Iterator[list[ExecutedStatement]]:
    """The statements that are run within the context, as they are run."""
    executed: list[ExecutedStatement] = []
    before = _EXECUTED.set(executed)
    try:
        yield executed
    finally:
        _EXECUTED.reset(before)


def _note(text: str, parameters: Mapping[str, Any] | None) -> None:
    executed = _EXECUTED.get()
    if executed is not None:
        executed.append(ExecutedStatement(text, parameters or {}))


_PARAMETER = re.compile(r"\$(\w+)")


def filled(text: str, parameters: Mapping[str, Any]) -> str:
    """A statement with its parameters written out, for people to read, change and run in the console."""
    return _PARAMETER.sub(lambda match: _literal(parameters[match[1]]), text)


def _literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float) and not math.isfinite(value):
        return f"'{value}'::double"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return str(value)


def framed(rows: Sequence[Mapping[str, Any]], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Rows as a frame with exactly the columns and types of `schema`; other entries of the rows are left out."""
    import polars as pl  # noqa: PLC0415  (it takes a tenth of a second, and most errors are told without frames)

    return pl.DataFrame([pl.Series(name, [row[name] for row in rows], dtype=schema[name]) for name in schema])


def conform(frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The columns of `schema` in its order, with its types."""
    import polars as pl  # noqa: PLC0415  (see above)

    return frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
