"""Rows of single neurons are found where they lie, and wherever else they were put."""

import random
from pathlib import Path

import duckdb
import pytest

from neurothek.queries.views.neuron_facts import FACTS_AT_ROWS, SUPPRESSED_AT_ROWS
from neurothek.queries.views.rows import TABLES, at_rows, first_rows, rows_of
from tests.support import tiny
from tests.support import warehouse as made

EVERY = [neuron for model_id in range(len(tiny.MODELS)) for neuron in tiny.neurons_of(model_id)]


def neurons_at(connection: duckdb.DuckDBPyConnection, table: str, rows: list[int]) -> list[tuple[int, int, int]]:
    query = f"select set_id, layer, neuron from store.{table} where list_contains($rows::bigint[], rowid)"
    return sorted(connection.execute(query, {"rows": rows}).fetchall())


@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_are_those_of_the_neurons(tmp_path: Path, shuffled: bool) -> None:
    made.create(tmp_path / "w.duckdb")
    asked = random.Random(0).sample(EVERY, 9)
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        if shuffled:
            for table in TABLES:
                connection.execute(f"create or replace table store.{table} as from store.{table} order by hash(neuron)")
        rows = rows_of(connection, asked)
        for table in TABLES:
            assert neurons_at(connection, table, rows[table]) == sorted(asked)
        check_what_is_read(connection, asked)


def check_what_is_read(connection: duckdb.DuckDBPyConnection, asked: list[tuple[int, int, int]]) -> None:
    """Rows read by their numbers are those of the neurons, wherever they lie."""
    firsts = first_rows(connection)
    read = at_rows(connection, FACTS_AT_ROWS, "neuron_facts", asked, firsts)
    assert sorted(read) == sorted(asked)
    for neuron, row in read.items():
        query = "select n_active, n_positions from store.neuron_facts where (set_id, layer, neuron) = (?, ?, ?)"
        assert connection.execute(query, neuron).fetchall() == [(row["n_active"], row["n_positions"])]
    lists = at_rows(connection, SUPPRESSED_AT_ROWS, "projections", asked, firsts)
    for row in made.hand_made().rows["projections"]:
        neuron = (row["model_id"], row["layer"], row["neuron"])
        if neuron in asked:
            assert lists[neuron]["token_ids"] == row["bottom_token_ids"][:10]


def test_a_table_without_the_model_has_no_rows_of_it(tmp_path: Path) -> None:
    made.create(tmp_path / "w.duckdb", tables=frozenset({"models", "tokenizers", "tokens", "projections"}))
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute("delete from store.projections where set_id = 0")
        rows = rows_of(connection, [(0, 0, 1), (1, 0, 1)])
        assert rows["neuron_facts"] == []
        assert neurons_at(connection, "projections", rows["projections"]) == [(1, 0, 1)]
