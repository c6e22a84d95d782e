"""Statements by name, run for frames or rows, recorded as they are run, and written out so that they run again."""

import math
from collections.abc import Iterator
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.tables.table import DOUBLE, INTEGER, TEXT
from neurothek.queries.ask import statements
from neurothek.queries.ask.statements import (
    ExecutedStatement,
    ask,
    ask_records,
    conform,
    filled,
    frame_of,
    framed,
    parsed,
    recorded,
    records,
    statement,
)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def test_a_statement_is_found_in_whichever_room_it_lies() -> None:
    for name in ("models", "search", "neuron_has"):
        assert "select" in statement(name)
    with pytest.raises(LookupError, match="no room of queries has the statement modles"):
        statement("modles")


def test_rows_and_frames_are_the_same_answer(full: duckdb.DuckDBPyConnection, empty: duckdb.DuckDBPyConnection) -> None:
    rows = ask_records(full, "models")
    assert rows
    assert ask(full, "models").to_dicts() == rows
    text = "select $x::integer as x, [$x, null] as list, null as nothing where $x > 0"
    assert records(full, text, {"x": 3}) == frame_of(full, text, {"x": 3}).to_dicts()
    assert records(full, text, {"x": 0}) == []
    assert frame_of(full, text, {"x": 0}).columns == ["x", "list", "nothing"]


def test_texts_that_were_read_are_kept_and_not_without_end(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "_PARSED", {})
    monkeypatch.setattr(statements, "_MOST_PARSED", 3)
    assert parsed(connection, "select 1") is parsed(connection, "select 1")
    for number in range(20):
        assert records(connection, f"select {number} as x") == [{"x": number}]
        assert len(statements._PARSED) <= 3


def test_a_text_is_one_statement(connection: duckdb.DuckDBPyConnection) -> None:
    for text in ("select 1; select 2", ""):
        with pytest.raises(ValueError, match="values to unpack"):
            parsed(connection, text)


def test_what_is_run_is_recorded_with_its_values(connection: duckdb.DuckDBPyConnection) -> None:
    records(connection, "select 0")
    with recorded() as outer:
        records(connection, "select $x as x", {"x": "it's"})
        with recorded() as inner:
            frame_of(connection, "select 2")
        frame_of(connection, "select $y as y", {"y": None})
    records(connection, "select 3")
    assert [one.sql for one in outer] == ["select 'it''s' as x", "select null as y"]
    assert inner == [ExecutedStatement("select 2", {})]


def test_recording_ends_where_its_block_fails(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error), recorded() as asked:
        records(connection, "select unknown")
    records(connection, "select 1")
    assert [one.text for one in asked] == ["select unknown"]


@given(value=st.text(max_size=12) | st.integers(-(2**63), 2**63 - 1) | st.none() | st.booleans())
def test_a_value_that_is_written_out_is_the_value(connection: duckdb.DuckDBPyConnection, value: object) -> None:
    text = filled("select $value as one", {"value": value})
    assert connection.execute(text).fetchall() == [(value,)]


@given(values=st.lists(st.none() | st.text(max_size=6), max_size=4))
def test_so_is_a_list(connection: duckdb.DuckDBPyConnection, values: list[str | None]) -> None:
    for sequence in (values, tuple(values)):
        text = filled("select $values::varchar[] as one", {"values": sequence})
        assert connection.execute(text).fetchall() == [(values,)]


@given(value=st.floats())
def test_so_is_a_number(connection: duckdb.DuckDBPyConnection, value: float) -> None:
    ((found,),) = connection.execute(filled("select $value::double as one", {"value": value})).fetchall()
    assert found == value or (math.isnan(found) and math.isnan(value))
    assert math.isnan(value) or math.copysign(1, found) == math.copysign(1, value)


def test_a_value_that_reads_like_a_parameter_stays_a_value() -> None:
    assert filled("select $a, $ab, $a", {"a": "$ab", "ab": 1}) == "select '$ab', 1, '$ab'"


ROWS: list[dict[str, Any]] = [
    {"n": 1, "name": "a", "x": 0.5, "more": 1},
    {"n": None, "name": None, "x": -0.0, "more": 2},
]
SCHEMA = {"name": TEXT, "n": INTEGER, "x": DOUBLE}


def test_rows_become_a_frame_of_exactly_these_columns() -> None:
    frame = framed(ROWS, SCHEMA)
    assert dict(frame.schema) == SCHEMA
    assert frame.rows() == [("a", 1, 0.5), (None, None, -0.0)]
    assert dict(framed([], SCHEMA).schema) == SCHEMA
    with pytest.raises(KeyError):
        framed([{"n": 1}], SCHEMA)


def test_a_frame_conforms_or_is_refused() -> None:
    frame = pl.DataFrame(ROWS)
    assert conform(frame, SCHEMA).equals(framed(ROWS, SCHEMA))
    assert dict(conform(frame.clear(), SCHEMA).schema) == SCHEMA
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        conform(frame.drop("n"), SCHEMA)
    with pytest.raises(pl.exceptions.InvalidOperationError):
        conform(frame.with_columns(n=pl.lit("many")), SCHEMA)
