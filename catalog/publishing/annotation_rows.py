"""Annotations enter the warehouse: all of one publication or none, in place of earlier judgements."""

from collections.abc import Sequence

import duckdb
import polars as pl

from catalog.store.warehouse import first_row
from catalog.tables.annotations import ANNOTATIONS

_SAME_VECTOR = " and ".join(
    f"annotations.{column} is not distinct from handed_over.{column}"
    for column in ("model_id", "layer", "condition", "neuron", "control_id", "shown_token_ids")
)


def write_annotations(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> int:
    """Insert rows of ANNOTATIONS in the open transaction; an annotator's earlier judgements of the vectors give way.

    Returns:
        How many earlier rows gave way.

    Raises:
        TableMismatch: the rows are none of the table's.
    """
    columns = ", ".join(ANNOTATIONS.columns)
    connection.register("handed_over", ANNOTATIONS.check(rows).to_arrow())
    try:
        replaced = first_row(
            connection,
            f"""
            delete from store.annotations as annotations where exists
            (from handed_over where handed_over.annotator = annotations.annotator and {_SAME_VECTOR})
            """,
        )
        connection.execute(f"insert into store.annotations ({columns}) select {columns} from handed_over")
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
