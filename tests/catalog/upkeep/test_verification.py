"""Rows measured again against the warehouse's: equal, close or different, judged against a loop over single values."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.catalog.tables.table import COUNTS, DOUBLE, IDS, INTEGER, SCORES, SMALL, TEXT, Column, Table
from neurothek.catalog.upkeep.verification import (
    TOLERANCE,
    Agreement,
    Remeasured,
    agreement,
    combined,
    nothing_to_verify,
)

RUN = 7

TABLE = Table(
    "made",
    "Made up.",
    scope="model",
    columns={
        "layer": Column(SMALL, "Made up."),
        "neuron": Column(INTEGER, "Made up."),
        "x": Column(DOUBLE, "Made up."),
        "n_active": Column(INTEGER, "Made up."),
        "token": Column(INTEGER, "Made up."),
        "kind": Column(TEXT, "Made up."),
        "scores": Column(SCORES, "Made up."),
        "counts_64": Column(COUNTS, "Made up."),
        "token_ids": Column(IDS, "Made up."),
    },
    key=("layer", "neuron"),
)
ROW: dict[str, Any] = {
    **{"layer": 0, "neuron": 0, "x": 2.0, "n_active": 1000, "token": 1000, "kind": "a"},
    **{"scores": [1.0, -2.0], "counts_64": [1000, 0], "token_ids": [5, 6]},
}
DECLARED = (
    "layer smallint, neuron integer, x double, n_active integer, token integer, kind varchar, scores float[],"
    " counts_64 bigint[], token_ids integer[], run_id integer"
)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"create schema store; create table store.made ({DECLARED})")
        yield connection


def store(connection: duckdb.DuckDBPyConnection, rows: Sequence[dict[str, Any]], *, run_id: int = RUN) -> None:
    connection.execute("delete from store.made")
    for row in rows:
        connection.execute("insert into store.made values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [*row.values(), run_id])


def again(rows: Sequence[dict[str, Any]], *, dtype: str = "float32", layers: Sequence[int] = (0, 1)) -> Remeasured:
    frame = pl.DataFrame(rows, schema=TABLE.schema)
    return Remeasured(run_id=RUN, job="job", dtype=dtype, table=TABLE, frame=frame, places=tuple(layers))


def numbers(found: Agreement) -> tuple[int, int, int, int]:
    return found.n_rows, found.n_equal, found.n_close, found.n_different


ROWS = [ROW | {"neuron": number} for number in range(4)]


def test_the_same_rows_agree_in_any_order(connection: duckdb.DuckDBPyConnection) -> None:
    store(connection, ROWS)
    found = agreement(connection, again(ROWS[::-1]))
    assert numbers(found) == (4, 4, 0, 0)
    assert (found.job, found.table, found.largest_difference, found.first_difference) == ("job", "made", 0.0, "")


def test_no_rows_agree_with_no_rows(connection: duckdb.DuckDBPyConnection) -> None:
    store(connection, [])
    assert numbers(agreement(connection, again([]))) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"x": 2.0001}, "close"),
        ({"x": 2.0003}, "different"),
        ({"x": None}, "different"),
        ({"x": math.nan}, "different"),
        ({"x": math.inf}, "different"),
        ({"x": -2.0}, "different"),
        ({"n_active": 1001}, "close"),
        ({"n_active": 998}, "different"),
        ({"token": 1001}, "different"),
        ({"kind": "A"}, "different"),
        ({"kind": None}, "different"),
        ({"scores": [1.0, -2.0001]}, "close"),
        ({"scores": [-2.0, 1.0]}, "different"),
        ({"scores": [1.0]}, "different"),
        ({"scores": [1.0, None]}, "different"),
        ({"scores": []}, "different"),
        ({"scores": None}, "different"),
        ({"counts_64": [1001, 1]}, "close"),
        ({"counts_64": [1000, 2]}, "different"),
        ({"token_ids": [5, 7]}, "different"),
        ({"token_ids": [6, 5]}, "different"),
    ],
    ids=str,
)
def test_one_value_that_moved(connection: duckdb.DuckDBPyConnection, changed: dict[str, Any], kind: str) -> None:
    store(connection, ROWS)
    found = agreement(connection, again([*ROWS[:2], ROWS[2] | changed, ROWS[3]]))
    assert numbers(found) == (4, 3, int(kind == "close"), int(kind == "different"))
    assert found.first_difference == (f"layer 0, neuron 2: {next(iter(changed))}" if kind == "different" else "")


@pytest.mark.parametrize("column", ["x", "kind", "scores", "counts_64", "token_ids"])
def test_nothing_on_both_sides_is_the_same(connection: duckdb.DuckDBPyConnection, column: str) -> None:
    rows = [ROW | {column: None}]
    store(connection, rows)
    assert numbers(agreement(connection, again(rows))) == (1, 1, 0, 0)


def test_half_precision_may_move_by_more(connection: duckdb.DuckDBPyConnection) -> None:
    store(connection, [ROW])
    moved = [ROW | {"x": 2.05}]
    assert agreement(connection, again(moved)).n_different == 1
    for dtype in ("float16", "bfloat16"):
        found = agreement(connection, again(moved, dtype=dtype))
        assert numbers(found) == (1, 0, 1, 0)
        assert math.isclose(found.largest_difference, 0.025, rel_tol=1e-9)


def test_every_column_that_moved_too_far_is_named(connection: duckdb.DuckDBPyConnection) -> None:
    store(connection, ROWS)
    found = agreement(connection, again([ROWS[0] | {"x": 3.0, "kind": "b", "n_active": 1001}, *ROWS[1:]]))
    assert found.first_difference == "layer 0, neuron 0: x, kind"


def test_rows_that_one_side_lacks_are_told(connection: duckdb.DuckDBPyConnection) -> None:
    store(connection, ROWS[1:])
    found = agreement(connection, again(ROWS[:3]))
    assert numbers(found) == (3, 2, 0, 2)
    assert found.first_difference == "layer 0, neuron 0: not in the warehouse"
    found = agreement(connection, again(ROWS[1:3]))
    assert (numbers(found), found.first_difference) == ((2, 2, 0, 1), "layer 0, neuron 3: only in the warehouse")


def test_only_the_places_that_were_measured_again_are_judged(connection: duckdb.DuckDBPyConnection) -> None:
    store(connection, [*ROWS, ROW | {"layer": 1}])
    assert numbers(agreement(connection, again(ROWS, layers=[0]))) == (4, 4, 0, 0)
    assert agreement(connection, again(ROWS)).n_different == 1


def test_rows_of_another_run_are_not_there(connection: duckdb.DuckDBPyConnection) -> None:
    store(connection, ROWS, run_id=RUN + 1)
    found = agreement(connection, again(ROWS))
    assert (numbers(found), found.first_difference) == ((4, 0, 0, 4), "layer 0, neuron 0: not in the warehouse")


def test_a_serial_number_counts_from_where_publishing_began(connection: duckdb.DuckDBPyConnection) -> None:
    table = replace(TABLE, columns={name: TABLE.columns[name] for name in ("layer", "neuron", "kind")}, serial="neuron")
    store(connection, [ROW | {"neuron": number} for number in (41, 42)])
    frame = pl.DataFrame([{"layer": 0, "neuron": number, "kind": "a"} for number in (0, 1)], schema=table.schema)
    found = agreement(connection, replace(again([]), table=table, frame=frame))
    assert numbers(found) == (2, 2, 0, 0)


@pytest.mark.parametrize(("moved", "kind"), [(3e-6, "close"), (5e-6, "different")])
def test_beside_0_a_number_may_move_by_a_hundredth_of_what_a_typical_one_may(
    connection: duckdb.DuckDBPyConnection, moved: float, kind: str
) -> None:
    stored = [ROW | {"neuron": number, "x": x} for number, x in enumerate([0.0, 4.0, -4.0])]
    store(connection, stored)
    found = agreement(connection, again([stored[0] | {"x": moved}, *stored[1:]]))
    assert numbers(found) == (3, 2, int(kind == "close"), int(kind == "different"))


def test_where_nothing_is_known_of_others_next_to_nothing_is_allowed(connection: duckdb.DuckDBPyConnection) -> None:
    store(connection, [ROW | {"x": 0.0}])
    assert agreement(connection, again([ROW | {"x": 5e-13}])).n_close == 1
    assert agreement(connection, again([ROW | {"x": 2e-12}])).n_different == 1


EIGHTHS = st.integers(-40, 40).map(lambda number: number / 8)


@settings(max_examples=40)
@given(values=st.lists(st.tuples(EIGHTHS, st.sampled_from([0.0, 1e-9, 3e-7, 1e-5, 2e-4, 0.5])), min_size=1, max_size=9))
def test_numbers_are_judged_as_a_loop_judges_them(
    connection: duckdb.DuckDBPyConnection, values: list[tuple[float, float]]
) -> None:
    stored = [value for value, _ in values]
    store(connection, [ROW | {"neuron": number, "x": value} for number, value in enumerate(stored)])
    measured = [value + moved for value, moved in values]
    found = agreement(connection, again([ROW | {"neuron": number, "x": x} for number, x in enumerate(measured)]))
    sizes = sorted(map(abs, stored))
    middle = (sizes[len(sizes) // 2] + sizes[(len(sizes) - 1) // 2]) / 2
    # Beside 0, by what a typical number may move a hundredth of.
    allowed = [max(abs(one) * 1e-4, middle * 1e-6, 1e-12) for one in stored]
    parts = [abs(a - b) / limit for a, b, limit in zip(measured, stored, allowed, strict=True)]
    assert found.n_equal == sum(part == 0 for part in parts)
    assert found.n_close == sum(0 < part <= 1 for part in parts)
    assert found.n_different == sum(part > 1 for part in parts)
    assert math.isclose(found.largest_difference, max(parts) * TOLERANCE["float32"], rel_tol=1e-9)


def part(table: str, *counts: int, largest: float = 0.0, first: str = "") -> Agreement:
    n_rows, n_equal, n_close, n_different = counts
    return Agreement("job", table, n_rows, n_equal, n_close, n_different, largest, first)


def test_parts_of_a_table_become_one_in_the_order_in_which_they_came() -> None:
    parts = [
        part("b", 4, 4, 0, 0),
        part("a", 3, 1, 1, 1, largest=0.5, first="layer 0: x"),
        part("b", 2, 0, 0, 2, largest=0.25, first="layer 1: y"),
        part("b", 1, 0, 0, 1, largest=0.125, first="layer 2: z"),
    ]
    assert combined(parts) == [part("b", 7, 4, 0, 3, largest=0.25, first="layer 1: y"), parts[1]]
    assert combined([]) == []
    other_job = replace(parts[0], job="other")
    assert combined([parts[0], other_job]) == [parts[0], other_job]


def test_what_was_never_measured_is_told_with_the_command_that_measures_it() -> None:
    assert str(nothing_to_verify("my model")) == (
        "my model was not measured yet; measure it with `neurothek ingest 'my model'`"
    )
