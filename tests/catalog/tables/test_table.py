"""A typed table: a frame that fits passes as it is, and one that does not is told by its first fault."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import Failed
from neurothek.catalog.tables.registry import BY_NAME, DIMENSIONS, FACTS
from neurothek.catalog.tables.table import (
    DOUBLE,
    INTEGER,
    SCOPE_IDS,
    SCORES,
    SMALL,
    TEXT,
    Column,
    FrameSchema,
    NotFinite,
    Table,
)
from neurothek.catalog.tables.weights import PROJECTIONS, TOKEN_NEIGHBOURS
from tests.support import publications as made

TABLE = FrameSchema(
    name="made",
    columns={"layer": SMALL, "name": TEXT, "x": DOUBLE, "scores": SCORES},
    key=("layer", "name"),
    nullable=frozenset({"x", "scores"}),
)


def test_a_fitting_frame_passes_unchanged() -> None:
    frames = made.weights_frames() | made.activity_frames() | made.contexts_frames()
    for name, frame in frames.items():
        assert BY_NAME[name].check(frame) is frame


NEIGHBOURS = made.weights_frames()["token_neighbours"]


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (NEIGHBOURS.drop("cosine"), "have columns"),
        (NEIGHBOURS.with_columns(extra=1), "have columns"),
        (NEIGHBOURS.cast({"cosine": pl.Float64}), "have columns"),
        (NEIGHBOURS.select("rank", "token_id", "neighbour_id", "cosine"), None),
        (NEIGHBOURS.with_columns(pl.lit(None, pl.Int32).alias("neighbour_id")), "empty values in neighbour_id"),
        (NEIGHBOURS.with_columns(pl.lit(float("nan"), pl.Float32).alias("cosine")), "not a finite number"),
        (NEIGHBOURS.with_columns(pl.lit(0, pl.Int32).alias("token_id")), "repeat a key"),
    ],
    ids=["missing", "unexpected", "type", "order", "null", "nan", "key"],
)
def test_a_frame_that_does_not_fit_is_refused(frame: pl.DataFrame, problem: str | None) -> None:
    if problem is None:
        assert TOKEN_NEIGHBOURS.check(frame) is frame
        return
    with pytest.raises(Failed, match=problem):
        TOKEN_NEIGHBOURS.check(frame)


def test_a_nan_inside_a_list_is_found() -> None:
    projections = made.weights_frames()["projections"]
    spoilt = projections.with_columns(pl.lit([float("inf")] * 4, pl.List(pl.Float32)).alias("top_scores"))
    with pytest.raises(Failed, match="top_scores"):
        PROJECTIONS.check(spoilt)


def test_an_empty_frame_of_a_table_fits_it() -> None:
    for table in BY_NAME.values():
        assert table.check(table.empty()).is_empty()


def one_row(**changed: Any) -> pl.DataFrame:
    return pl.DataFrame([{"layer": 0, "name": "a", "x": 1.0, "scores": [1.0]} | changed], schema=dict(TABLE.columns))


def test_the_sentence_says_table_fault_and_that_nothing_was_written() -> None:
    with pytest.raises(Failed) as refused:
        TABLE.check(pl.concat([one_row(), one_row(x=2.0)]))
    assert str(refused.value) == (
        "rows for the table made repeat a key (layer, name); nothing was written, and this is a defect worth reporting"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("column", ["x", "scores"])
def test_what_is_not_finite_is_told_with_its_column(column: str, value: float) -> None:
    row = one_row(**{column: value if column == "x" else [0.0, value]})
    with pytest.raises(NotFinite, match=f"hold a value in {column} that is not a finite number") as refused:
        TABLE.check(pl.concat([one_row(layer=1), row]))
    assert (refused.value.table, refused.value.column) == ("made", column)


@pytest.mark.parametrize(
    "changed",
    [
        {"x": None},
        {"x": -0.0},
        {"x": 1.7e308},
        {"scores": None},
        {"scores": []},
        {"scores": [None, -3e38]},
        {"name": ""},
    ],
)
def test_null_where_it_is_a_value_and_numbers_at_the_edge_pass(changed: dict[str, Any]) -> None:
    frame = one_row(**changed)
    assert TABLE.check(frame) is frame


@pytest.mark.parametrize(("n_empty", "column"), [(1, "name"), (2, "layer")])
def test_empty_values_are_counted(n_empty: int, column: str) -> None:
    rows = [one_row(layer=number) for number in range(3)]
    rows += [one_row(layer=9, name=str(number)).with_columns(pl.lit(None).alias(column)) for number in range(n_empty)]
    with pytest.raises(Failed, match=f"have {n_empty} empty values in {column};"):
        TABLE.check(pl.concat(rows, how="vertical_relaxed"))


KEYS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["", "a", "A", "é"])), max_size=8)


@given(keys=KEYS)
def test_a_key_is_refused_exactly_where_it_repeats(keys: list[tuple[int, str]]) -> None:
    frame = pl.DataFrame(
        [{"layer": layer, "name": name, "x": None, "scores": None} for layer, name in keys], schema=dict(TABLE.columns)
    )
    if len({*keys}) == len(keys):
        assert TABLE.check(frame) is frame
    else:
        with pytest.raises(Failed, match="repeat a key"):
            TABLE.check(frame)


def test_keys_that_share_a_hash_do_not_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.DataFrame, "hash_rows", lambda frame: pl.Series([0] * frame.height))
    TABLE.check(pl.concat([one_row(), one_row(layer=1)]))
    with pytest.raises(Failed, match="repeat a key"):
        TABLE.check(pl.concat([one_row(), one_row()]))


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ({"neuron": INTEGER, "layer": SMALL}, "layer"),
        ({"layer": SMALL, "example_id": INTEGER}, "example_id"),
        ({"method": TEXT, "source_state": SMALL}, "source_state"),
        ({"method": TEXT, "layer": SMALL, "sentence_id": INTEGER}, "sentence_id"),
        ({"token_id": INTEGER}, None),
    ],
)
def test_a_table_lies_by_the_first_of_its_places(columns: dict[str, pl.DataType], place: str | None) -> None:
    declared = {name: Column(dtype, "Made up.") for name, dtype in columns.items()}
    assert Table("t", "Made up.", declared, (), "model").place == place


def test_declarations_name_their_own_columns() -> None:
    """A key, a part or a serial that is no column would be told by DuckDB, in the middle of a publish."""
    assert all(table.is_fact for table in FACTS)
    assert not any(table.is_fact for table in DIMENSIONS)
    assert {table.name for table in BY_NAME.values() if not table.is_repeatable} == {"shortcut_maps"}
    for table in BY_NAME.values():
        assert {*table.key, *table.rows.nullable, *filter(None, (table.serial, table.part))} <= {*table.schema}, (
            table.name
        )
        assert table.key, table.name
        assert not {*table.key} & table.rows.nullable, table.name
        assert not {*table.ids} & {*table.schema} or table.name in ("models", "tokenizers", "corpora"), table.name
        assert table.ids == SCOPE_IDS[table.scope]
        assert "run_id" not in table.schema or table.name == "runs", table.name
