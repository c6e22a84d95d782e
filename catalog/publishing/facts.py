"""The flat rows of neurons, one a neuron with all that is known of it, made from the other tables."""

from collections.abc import Mapping
from functools import cache
from importlib import resources

import duckdb

from neurothek.catalog.publishing import summaries


def rebuild_facts(connection: duckdb.DuckDBPyConnection, model_id: int) -> None:
    """Rebuild the flat rows of one model and what is kept of it: after a publish, a pin, a rename or a removal."""
    connection.execute("delete from store.neuron_facts where model_id = ?", [model_id])
    connection.execute(_facts_script(), {"model_id": model_id, "corpus_id": None})
    summaries.refresh(connection, model_id)


def facts_elsewhere(connection: duckdb.DuckDBPyConnection, table: str, corpora: Mapping[int, int]) -> None:
    """Create a temporary table with the flat rows of models as they are on other corpora than the shown ones.

    Args:
        connection: a reader will do.
        table: its name.
        corpora: model_id -> corpus_id; a model that was not measured there has rows that tell nothing of text.
    """
    connection.execute(f"create temp table {table} as from store.neuron_facts limit 0")
    script = _facts_script().replace("insert into store.neuron_facts by name", f"insert into {table} by name", 1)
    for model_id, corpus_id in corpora.items():
        connection.execute(script, {"model_id": model_id, "corpus_id": corpus_id})


@cache
def _facts_script() -> str:
    return resources.files("neurothek.catalog.publishing").joinpath("neuron_facts.sql").read_text("utf-8")
