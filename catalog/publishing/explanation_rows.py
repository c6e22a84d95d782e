"""Explanations and what judges say of them enter the warehouse, in place of earlier ones of the same subject."""

import duckdb
import polars as pl

from neurothek.catalog.tables.explanations import EXPLANATION_JUDGEMENTS, EXPLANATIONS
from neurothek.catalog.tables.table import Table

_SUBJECT = ("model_id", "layer", "neuron", "pole", "subject", "explainer")
_QUESTION = ("explanation_id", "judge", "method", "condition", "prompt_sha256")


def write_explanations(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> None:
    """Insert rows of EXPLANATIONS in the open transaction; an earlier one of the subject goes with its judgements."""
    _replace(connection, EXPLANATIONS, rows, _SUBJECT)
    connection.execute(
        "delete from store.explanation_judgements where explanation_id not in"
        " (select explanation_id from store.explanations)"
    )


def write_explanation_judgements(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> None:
    """Insert rows of EXPLANATION_JUDGEMENTS likewise; an earlier answer to the same question gives way."""
    _replace(connection, EXPLANATION_JUDGEMENTS, rows, _QUESTION)


def forget_judgements(
    connection: duckdb.DuckDBPyConnection, explanation_id: str, judge: str, prompts: list[str]
) -> None:
    """Delete what a judge answered to other questions than these about an explanation: its contexts are others now."""
    connection.execute(
        "delete from store.explanation_judgements"
        " where explanation_id = ? and judge = ? and not list_contains(?::varchar[], prompt_sha256)",
        [explanation_id, judge, prompts],
    )


def _replace(connection: duckdb.DuckDBPyConnection, table: Table, rows: pl.DataFrame, about: tuple[str, ...]) -> None:
    columns = ", ".join(f'"{name}"' for name in table.schema)
    same = " and ".join(f"written.{column} = handed_over.{column}" for column in about)
    connection.register("handed_over", table.check(rows).to_arrow())
    try:
        connection.execute(f"delete from store.{table.name} as written where exists (from handed_over where {same})")
        connection.execute(f"insert into store.{table.name} ({columns}) select {columns} from handed_over")
    finally:
        connection.unregister("handed_over")
