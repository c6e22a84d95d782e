"""Values in a table: numbers of one column agree in decimals, nothing non-zero is shown as zero."""

import math
from datetime import date, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.terminal.cells import PrintedColumn, columns_of


def cells(values: pl.Series) -> tuple[str, ...]:
    (column,) = columns_of(values.to_frame())
    return column.cells


def one(values: pl.Series) -> PrintedColumn:
    (column,) = columns_of(values.to_frame())
    return column


def test_counts_have_commas_and_ids_have_none() -> None:
    assert cells(pl.Series("n_tokens", [1234567, None])) == ("1,234,567", "-")
    assert cells(pl.Series("neuron", [12345])) == cells(pl.Series("token_id", [12345])) == ("12345",)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.12345, 0.5], ("0.1235", "0.5000")),
        ([1.5, 12.25], ("1.50", "12.25")),
        ([1234.5, 0.0], ("1,234.5", "0.0")),
        ([0.5, 0.0000012], ("0.5000", "1.2e-06")),
        ([-0.25, None], ("-0.2500", "-")),
        ([math.nan, math.inf, 1.0], ("nan", "inf", "1.000")),
    ],
)
def test_floats(values: list[float | None], expected: tuple[str, ...]) -> None:
    assert cells(pl.Series("x", values)) == expected


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6))
def test_no_number_is_shown_as_zero_unless_it_is(values: list[float]) -> None:
    for value, cell in zip(values, cells(pl.Series("x", values)), strict=True):
        assert (float(cell.replace(",", "")) == 0) == (value == 0)


@pytest.mark.parametrize("name", ["token", "neighbours", "promotes", "top_tokens"])
def test_white_space_of_tokens_is_seen(name: str) -> None:
    assert cells(pl.Series(name, [[" the", "s"]])) == ("·the s",)


def test_lists() -> None:
    assert cells(pl.Series("matched", [[" a", "b"], [], None])) == ("·a b", "", "-")
    assert cells(pl.Series("jobs", [["activity", "contexts"]])) == ("activity, contexts",)
    assert cells(pl.Series("score", [[1.5, None], [2.25]])) == ("1.50, -", "2.25")
    assert cells(pl.Series("x", [[], []], dtype=pl.List(pl.Float64))) == ("", "")


def test_other_values() -> None:
    assert cells(pl.Series("comparable", [True, False, None])) == ("yes", "no", "-")
    assert cells(pl.Series("at", [datetime(2026, 1, 2, 3, 4, 5)])) == ("2026-01-02 03:04",)
    assert cells(pl.Series("on", [date(2026, 1, 2)])) == ("2026-01-02",)
    assert cells(pl.Series("s", [{"a": 1}])) == ("{'a': 1}",)
    assert cells(pl.Series("nothing", [None, None])) == ("-", "-")
    assert cells(pl.Series("text", ["x" * 5000]))[0] == "x" * 2000 + "…"


def test_columns_know_how_they_are_laid_out() -> None:
    assert one(pl.Series("n", [1])).is_right
    assert not one(pl.Series("n", [1])).is_flexible
    assert one(pl.Series("before", ["a b"])).keeps_end
    assert one(pl.Series("before", ["a b"])).is_right
    assert one(pl.Series("neighbours", [["a"]])).is_flexible
    # An address that lost its end would be another neuron's.
    assert not one(pl.Series("address", ["a"])).is_flexible


def test_names_of_columns_are_shown_as_cells_are() -> None:
    (column,) = columns_of(pl.DataFrame({"a\x1b[2J\u202eb\n": ["c\u202ed"]}))
    assert column.name == "a\\x1b[2J\\u202eb↵"
    assert column.cells == ("c\\u202ed",)


def test_a_text_too_long_for_any_line_ends_in_an_ellipsis() -> None:
    frame = pl.DataFrame({"a": ["x" * 2000, "x" * 2001], "token": ["y" * 2000, "y" * 2001]})
    for column, character in zip(columns_of(frame), "xy", strict=True):
        assert column.cells == (character * 2000, character * 2000 + "…")


def test_a_header_shows_a_token_as_its_cells_do() -> None:
    # The blank's mark stands in the name already: it is no character of the token.
    shown, turned = columns_of(pl.DataFrame({"rank of ·school": ["1 > 2"], "a\u202eb\x1b": ["3"]}))
    assert (shown.name, turned.name) == ("rank of ·school", "a\\u202eb\\x1b")
    assert shown.is_asked_for
