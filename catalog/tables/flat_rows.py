"""The SQL that writes the flat rows of neurons, apart from their declaration, which loads polars."""

from functools import cache
from importlib import resources

import duckdb


@cache
def flat_rows_script() -> str:
    """SQL that writes the rows of the model `$model_id`, those of the corpus `$corpus_id` where that is not null."""
    return resources.files("neurothek.catalog.tables").joinpath("neuron_facts.sql").read_text("utf-8")


def write_flat_rows(
    connection: duckdb.DuckDBPyConnection,
    model_id: int,
    *,
    corpus_id: int | None = None,
    table: str = "store.neuron_facts",
) -> None:
    """Write a model's rows beside those that are there.

    Args:
        connection: a writer, or a reader where the table is a temporary one.
        model_id: the model.
        corpus_id: the text they tell of; None: the shown one.
        table: a table with the columns of `neuron_facts`.
    """
    script = flat_rows_script().replace("insert into store.neuron_facts by name", f"insert into {table} by name", 1)
    connection.execute(script, {"model_id": model_id, "corpus_id": corpus_id})
