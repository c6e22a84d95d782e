"""Rows measured again against the warehouse's: equal, close or different, judged against a loop over single values."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.catalog.tables.registry import BY_NAME
from neurothek.catalog.tables.table import COUNTS, DOUBLE, IDS, INTEGER, SCORES, SMALL, TEXT, Column, Table
from neurothek.catalog.upkeep.verification import (
    TOLERANCE,
    Agreement,
    Remeasured,
    agreement,
    combined,
    deviations,
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


@pytest.mark.parametrize(("moved", "kind"), [(3e-5, "close"), (5e-5, "different")])
def test_beside_0_a_number_may_move_by_a_tenth_of_what_a_typical_one_may(
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
    # Beside 0, by what a typical number may move a tenth of.
    allowed = [max(abs(one) * 1e-4, middle * 1e-5, 1e-12) for one in stored]
    parts = [abs(a - b) / limit for a, b, limit in zip(measured, stored, allowed, strict=True)]
    assert found.n_equal == sum(part == 0 for part in parts)
    assert found.n_close == sum(0 < part <= 1 for part in parts)
    assert found.n_different == sum(part > 1 for part in parts)
    assert math.isclose(found.largest_difference, max(parts) * TOLERANCE["float32"], rel_tol=1e-9)


MEASURED_ONCE: dict[str, tuple[pl.DataFrame, dict[str, list[float]]]] = {
    # Moments of z-scores: of z^4 it is 3 more than the excess kurtosis, of |z|^3 at most the root of that.
    "controls": (
        pl.DataFrame(
            {"score_mean": [0.001, 0.3], "score_sd": [0.25, 0.5], "score_kurtosis": [0.001, 61.0]}
        ).with_columns(score_skewness=pl.Series([0.0001, 2.0])),
        {"score_mean": [0.25, 0.5], "score_kurtosis": [3.001, 64.0], "score_skewness": [3.001**0.5, 8.0]},
    ),
    "neuron_effects": (
        pl.DataFrame({"n_tokens": [100, 4], "nll_untouched": [600.0, 20.0], "kl": [0.01, 5.0]}),
        {"kl": [60.0, 10.0]},
    ),
    # The layer's largest coefficient is 2 at the first place and 3 at the second; e . v is 0.5, 0.1 and 4.
    "sub_updates": (
        pl.DataFrame(
            {
                "example_id": [0, 0, 1],
                "coefficient": [2.0, -0.001, 3.0],
                "score_final": [1.0, -0.0001, 12.0],
            }
        ),
        {"coefficient": [2.0, 2.0, 3.0], "score_final": [1.0 + 1.0, 0.2 + 0.0005, 12.0 + 12.0]},
    ),
    "shortcuts": (pl.DataFrame({"r2": [0.0001, -8.0, 1.0]}), {"r2": [1.9999, 10.0, 1.0]}),
    "shortcut_readings": (pl.DataFrame({"surprisal": [0.0001, 7.0]}), {"surprisal": [1.0, 1.0]}),
}


def filled(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of a table, of which only some columns matter."""
    table = BY_NAME[name]
    free = {key: pl.int_range(pl.len()) for key in table.key if key not in rows.columns}
    rest = {key: pl.lit(None) for key in table.schema if key not in rows.columns and key not in free}
    return rows.with_columns(**free, **rest).select(
        pl.col(key).cast(pl.Int64).cast(dtype) if key in free else pl.col(key).cast(dtype)
        for key, dtype in table.schema.items()
    )


def judge(name: str, measured: pl.DataFrame, stored: pl.DataFrame, *, tolerance: float = 1e-4) -> pl.DataFrame:
    keys = list(BY_NAME[name].key)
    pairs = measured.join(stored, on=keys, suffix="_stored", maintain_order="left")
    return deviations(BY_NAME[name], pairs, tolerance=tolerance)


@pytest.mark.parametrize("name", MEASURED_ONCE)
def test_a_difference_may_move_like_what_is_subtracted_and_no_further(name: str) -> None:
    rows, terms = MEASURED_ONCE[name]
    measured = filled(name, rows)
    for column, sizes in terms.items():
        for place, size in enumerate(sizes):
            value = measured[column][place]
            typical = median(abs(one) for one in measured[column])
            allowed = max(1e-5 * size, 1e-4 * abs(value), 1e-5 * typical)
            for moved, is_close in ((0.9 * allowed, True), (1.2 * allowed, False)):
                # What is stored was changed, and says nothing of what it may be.
                stored = measured.with_columns(
                    pl.when(pl.int_range(pl.len()) == place).then(pl.lit(value + moved)).otherwise(column).alias(column)
                )
                found = judge(name, measured, stored.cast(measured.schema))[column]
                assert (found[place] <= 1) == is_close, (column, place, found[place])
                assert found[place] > 0
                assert found.drop_nulls().sum() == found[place], (column, place)


def test_a_share_may_move_by_one_case() -> None:
    measured = filled("exits", pl.DataFrame({"n": [40, 5000], "accuracy": [0.5, 0.5]}))
    for place, step in enumerate((1 / 40, 1e-3 * 0.5)):
        for moved, is_close in ((0.99 * step, True), (1.5 * step, False)):
            moves = pl.when(pl.int_range(pl.len()) == place).then(moved).otherwise(0.0)
            found = judge("exits", measured, measured.with_columns(pl.col("accuracy") + moves))["accuracy"]
            assert (found[place] <= 1) == is_close, (place, moved)
    percentiles = filled("coherences", pl.DataFrame({"coherence_percentile": [7.0, 50.0, 99.0]}))
    for moved, is_close in ((0.2, True), (0.4, False)):
        fewer = percentiles.with_columns(pl.col("coherence_percentile") - moved)
        judged = judge("coherences", percentiles, fewer)["coherence_percentile"]
        assert (judged <= 1.0001).all() == is_close


TIED = [9.0, 5.0, 4.9999, 4.9998, 2.0]
"""Scores of a list, of which rounding may exchange the three in the middle."""


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        ([1, 2, 3, 4, 5], "equal"),
        ([1, 3, 2, 4, 5], "close"),
        ([1, 4, 3, 2, 5], "close"),
        ([2, 1, 3, 4, 5], "different"),
        ([1, 2, 3, 5, 4], "different"),
        ([1, 2, 7, 4, 5], "different"),
        ([1, 2, 2, 4, 5], "different"),
        ([1, 2, 3, 4, 6], "different"),
        ([1, 2, 3, 4], "different"),
        (None, "different"),
    ],
    ids=str,
)
def test_only_ids_of_numbers_next_to_each_other_change_places(ids: list[int] | None, kind: str) -> None:
    rows = pl.DataFrame({"top_scores": [TIED] * 2, "top_token_ids": [[1, 2, 3, 4, 5]] * 2})
    # The other list has an id that this one must not borrow.
    rows = rows.with_columns(top_token_ids=pl.Series([[1, 2, 3, 4, 5], [7, 8, 9, 10, 11]]))
    measured = filled("controls", rows)
    stored = measured.with_columns(top_token_ids=pl.Series([ids, [7, 8, 9, 10, 11]], dtype=IDS))
    found = judge("controls", measured, stored)["top_token_ids"]
    assert found[1] == 0
    assert ("equal" if found[0] == 0 else "close" if found[0] <= 1 else "different") == kind
    if ids is None or len(ids) < len(TIED):
        return
    # Likewise where every place of a list is a row.
    lists = pl.DataFrame(
        {"token_id": [6] * 5 + [7] * 5, "cosine": TIED * 2, "neighbour_id": [1, 2, 3, 4, 5, *range(7, 12)]}
    )
    measured = filled("token_neighbours", lists)
    stored = measured.with_columns(neighbour_id=pl.Series([*ids, *range(7, 12)], dtype=INTEGER))
    found = judge("token_neighbours", measured, stored)["neighbour_id"]
    worst = found.head(5).max()
    assert found.tail(5).max() == 0
    assert ("equal" if worst == 0 else "close" if worst == 1 else "different") == kind


def test_as_far_apart_as_rounding_moves_them_is_near_enough_to_change_places() -> None:
    # A step of 1 beside 4 is a quarter: in numbers that are exact, at the bound for it and within for the next.
    rows = pl.DataFrame({"top_scores": [[4.0, 5.0, 16.0]], "top_token_ids": [[1, 2, 3]]})
    measured = filled("controls", rows)
    stored = measured.with_columns(top_token_ids=pl.Series([[2, 1, 3]], dtype=IDS))
    for tolerance, is_close in ((0.25, True), (0.249, False)):
        assert (judge("controls", measured, stored, tolerance=tolerance)["top_token_ids"][0] <= 1) == is_close


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
        "my model has not been measured yet; measure it with `neurothek ingest 'my model'`"
    )
