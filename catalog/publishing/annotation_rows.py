"""Annotations enter the warehouse: all of one publication or none, in place of earlier judgements."""

from collections.abc import Sequence

import duckdb
import polars as pl

from neurothek.catalog.store.warehouse import first_row
from neurothek.catalog.tables.annotations import ANNOTATIONS, PLAUSIBILITY_JUDGEMENTS
from neurothek.catalog.tables.table import Table

_VECTOR = ("model_id", "layer", "condition", "neuron", "control_id", "shown_token_ids")
_LIST = ("model_id", "text", "shown_token_ids")


def write_annotations(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> int:
    """Insert rows of ANNOTATIONS in the open transaction; an annotator's earlier judgements of the vectors give way.

    Returns:
        How many earlier rows gave way.
    """
    return _write(connection, ANNOTATIONS, rows, _VECTOR)


def write_judgements(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> int:
    """Insert rows of PLAUSIBILITY_JUDGEMENTS likewise; an annotator's earlier judgements of the lists give way.

    Returns:
        How many earlier rows gave way.
    """
    return _write(connection, PLAUSIBILITY_JUDGEMENTS, rows, _LIST)


def _write(connection: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame, about: Sequence[str]) -> int:
    columns = ", ".join(table.schema)
    same = " and ".join(
        f"written.{column} is not distinct from handed_over.{column}" for column in ("annotator", *about)
    )
    connection.register("handed_over", table.check(rows).to_arrow())
    try:
        replaced = first_row(
            connection,
            f"delete from store.{table.name} as written where exists (from handed_over where {same})",
        )
        connection.execute(f"insert into store.{table.name} ({columns}) select {columns} from handed_over")
    finally:
        connection.unregister("handed_over")
    return int(replaced[0]) if replaced else 0


def withdraw_annotations(connection: duckdb.DuckDBPyConnection, annotator: str, model_ids: Sequence[int]) -> int:
    """Delete all that an annotator said of some models, in the open transaction.

    Returns:
        How many rows there were.
    """
    withdrawn = first_row(
        connection,
        "delete from store.annotations where annotator = ? and list_contains(?::integer[], model_id)",
        [annotator, list(model_ids)],
    )
    return int(withdrawn[0]) if withdrawn else 0
