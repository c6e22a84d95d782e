"""The flat rows of neurons, one a neuron with all that is known of it, made from the other tables."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources

import duckdb

from neurothek.catalog.publishing import summaries

_FACTS, _RUNS = "neuron_facts", "runs"
_MEASURED = f"{summaries.PREFIX}measured_corpora"


def rebuild_facts(connection: duckdb.DuckDBPyConnection, model_id: int, written: Collection[str] | None = None) -> None:
    """Rebuild the flat rows of one model and what is kept of it: after a publish, a pin, a rename or a removal.

    Args:
        connection: a writer.
        model_id: the model.
        written: the tables, besides `runs`, in which rows of a model that was there were written, of a text that was;
            what reads none of them stays. None: any may have been.
    """
    changed: set[str] | None = None
    if written is not None and _MEASURED in {view.table for view in summaries.kept(connection)}:
        changed = {_RUNS}
        summaries.refresh(connection, model_id, changed)
        changed = changed.union(written) - {_RUNS}
    if changed is None or not _read_by_facts().isdisjoint(changed):
        connection.execute("delete from store.neuron_facts where model_id = ?", [model_id])
        connection.execute(_facts_script(), {"model_id": model_id, "corpus_id": None})
        if changed is not None:
            changed.add(_FACTS)
    summaries.refresh(connection, model_id, changed)


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


@cache
def _read_by_facts() -> frozenset[str]:
    """Of runs they read which corpora were measured, which a view tells, too."""
    return summaries.tables_read(_facts_script()).difference((_FACTS, _RUNS)).union((_MEASURED,))
