"""Annotations enter together, each in place of what the same person said of the same vector before."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import duckdb
import polars as pl
import pytest

from neurothek.catalog.problems import Failed
from neurothek.catalog.publishing.annotation_rows import write_annotations
from neurothek.catalog.tables.annotations import ANNOTATIONS

USUAL: dict[str, Any] = {
    "annotation_id": "a0",
    "model_id": 0,
    "layer": 1,
    "condition": "value",
    "neuron": 2,
    "control_id": None,
    "shown_token_ids": [5, 6, 7],
    "concept": "c",
    "class": "names",
    "token_ids": [5, 6],
    "annotator": "anna",
    "created_at": datetime(2026, 1, 1),
}


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("""
            create schema store;
            create table store.annotations (
                annotation_id varchar, model_id integer, layer smallint, condition varchar, neuron integer,
                control_id integer, shown_token_ids integer[], concept varchar, class varchar, token_ids integer[],
                annotator varchar, created_at timestamp
            )
        """)
        yield connection


def write(connection: duckdb.DuckDBPyConnection, *changes: dict[str, Any]) -> int:
    rows = [USUAL | change for change in changes]
    return write_annotations(connection, pl.DataFrame(rows, schema=ANNOTATIONS.schema))


def ids(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute("select annotation_id from store.annotations order by 1").fetchall()
    return [one for (one,) in rows]


def test_what_is_written_is_what_was_handed_over(connection: duckdb.DuckDBPyConnection) -> None:
    assert write(connection, {}, {"annotation_id": "a1", "concept": None, "class": None, "token_ids": []}) == 0
    rows = connection.sql("from store.annotations order by annotation_id").pl().to_dicts()
    assert rows == [USUAL, USUAL | {"annotation_id": "a1", "concept": None, "class": None, "token_ids": []}]


def test_all_that_one_person_said_of_a_vector_gives_way(connection: duckdb.DuckDBPyConnection) -> None:
    write(connection, {}, {"annotation_id": "a1", "concept": "d"})
    assert write(connection, {"annotation_id": "b0", "concept": "e"}) == 2
    assert ids(connection) == ["b0"]


@pytest.mark.parametrize(
    "other",
    [
        {"annotator": "Anna"},
        {"model_id": 1},
        {"layer": 0},
        {"neuron": 3},
        {"condition": "random", "neuron": None, "control_id": 2},
        {"shown_token_ids": [5, 6]},
        {"shown_token_ids": [7, 6, 5]},
    ],
    ids=str,
)
def test_what_others_said_or_of_another_vector_stays(
    connection: duckdb.DuckDBPyConnection, other: dict[str, Any]
) -> None:
    write(connection, {})
    assert write(connection, {"annotation_id": "b0", **other}) == 0
    assert ids(connection) == ["a0", "b0"]


def test_controls_without_a_neuron_are_the_same_vector(connection: duckdb.DuckDBPyConnection) -> None:
    """Null is null here, as it is in no comparison of SQL."""
    control = {"condition": "random", "neuron": None, "control_id": 4}
    write(connection, control, {"annotation_id": "a1", **control, "control_id": 5})
    assert write(connection, {"annotation_id": "b0", **control}) == 1
    assert ids(connection) == ["a1", "b0"]


def test_rows_of_another_kind_are_refused_and_nothing_is_left_registered(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    write(connection, {})
    nothing: dict[str, Any] = {}
    for changes in ([{"annotator": None}], [nothing, nothing]):
        with pytest.raises(Failed, match=r"rows for the table annotations (have|repeat)"):
            write(connection, *changes)
    assert ids(connection) == ["a0"]
    with pytest.raises(duckdb.CatalogException):
        connection.execute("from handed_over")


def test_no_rows_change_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    write(connection, {})
    assert write(connection) == 0
    assert ids(connection) == ["a0"]
