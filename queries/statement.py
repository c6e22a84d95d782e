"""The questions that commands ask, each a SQL file beside this one; Python binds values and runs them."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import duckdb
import polars as pl


@cache
def statement(name: str) -> str:
    """Text of `queries/statements/NAME.sql`."""
    return resources.files("queries").joinpath("statements", f"{name}.sql").read_text("utf-8")


def ask(connection: duckdb.DuckDBPyConnection, name: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Run a statement by its name with values bound to its parameters."""
    return run(connection, statement(name), parameters)


def run(connection: duckdb.DuckDBPyConnection, text: str, parameters: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Run one query and fetch all of its rows."""
    frame: pl.DataFrame = connection.sql(text, params=dict(parameters or {})).pl()
    return frame


def conform(frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """The columns of `schema` in its order, with its types."""
    return frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
