"""Where rows of single neurons lie: counted from their model's first row, so that millions are not looked through."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from queries.statement import ask_records, records
from queries.views import view

TABLES = ("neuron_facts", "projections")
"""The tables that hold a row a neuron, a model's together in the order of layers and neurons."""

Neuron = tuple[int, int, int]

_ALL = "from store.neuron_facts as facts"
_SOME = "from (from store.neuron_facts where rowid in (select unnest($rows::bigint[]))) as facts"


def rows_of(connection: duckdb.DuckDBPyConnection, neurons: Sequence[Neuron]) -> dict[str, list[int]]:
    """Table -> numbers of the rows of the neurons (model_id, layer, neuron), as far as it has them.

    Where rows do not lie as they are published, they are looked for.
    """
    counted = _counted(connection, neurons)
    lying = {name: set[Neuron]() for name in TABLES}
    for row in ask_records(connection, "neurons_at_rows", counted):
        lying[row["name"]].add((row["model_id"], row["layer"], row["neuron"]))
    if all(lying[name] == set(neurons) for name in TABLES):
        return counted
    asked = {
        "model_ids": [model_id for model_id, _, _ in neurons],
        "layers": [layer for _, layer, _ in neurons],
        "neurons": [neuron for _, _, neuron in neurons],
    }
    found: dict[str, list[int]] = {name: [] for name in TABLES}
    for row in ask_records(connection, "found_rows", asked):
        found[row["name"]].append(row["row_number"])
    return found


def with_facts(
    connection: duckdb.DuckDBPyConnection, found: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> list[dict[str, Any]]:
    """Rows of neurons with these columns of the view `neurons`, which is read at their rows alone.

    Args:
        connection: a reader.
        found: rows with model, model_id, layer and neuron.
        columns: names of the columns.
    """
    if not found:
        return []
    text = view("neurons").text
    assert text.count(_ALL) == 1
    query = f"select model, layer, neuron, {', '.join(columns)} from (\n{text.replace(_ALL, _SOME)}\n)"
    neurons = [(row["model_id"], row["layer"], row["neuron"]) for row in found]
    facts = {
        (row["model"], row["layer"], row["neuron"]): row
        for row in records(connection, query, {"rows": rows_of(connection, neurons)["neuron_facts"]})
    }
    places = [(row["model"], row["layer"], row["neuron"]) for row in found]
    return [{**row, **facts[place]} for row, place in zip(found, places, strict=True) if place in facts]


def _counted(connection: duckdb.DuckDBPyConnection, neurons: Sequence[Neuron]) -> dict[str, list[int]]:
    firsts = {row["model_id"]: row for row in ask_records(connection, "first_rows")}
    return {
        name: [
            firsts[model_id][name] + layer * firsts[model_id]["d_ffn"] + neuron
            for model_id, layer, neuron in neurons
            if firsts[model_id][name] is not None
        ]
        for name in TABLES
    }
