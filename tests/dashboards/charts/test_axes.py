"""Axes and tooltips: counts have whole ticks, shares are in percent, names are said as people say them."""

from typing import Any

import altair as alt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.terminal.cells import SHARES
from neurothek.dashboards.charts.axes import FEW_TICKS, count_axis, count_scale, count_tooltip, spoken


def drawn_as(part: alt.SchemaBase) -> dict[str, Any]:
    spec = part.to_dict()
    assert isinstance(spec, dict)
    return spec


def test_a_column_is_said_without_its_underscores(subtests: pytest.Subtests) -> None:
    for column, said in [
        ("n_tokens_seen", "tokens seen"),
        ("frequency", "frequency"),
        ("n_n_grams", "n grams"),
        ("mean_n", "mean n"),
        ("", ""),
    ]:
        with subtests.test(column=column, said=said):
            assert spoken(column) == said


def test_a_share_is_in_percent_and_a_count_has_its_thousands_apart() -> None:
    for name in SHARES:
        assert drawn_as(count_tooltip(name))["format"] == ".2%"
    told = drawn_as(count_tooltip("n_tokens_seen"))
    assert (told["format"], told["field"], told["title"]) == (",", "n_tokens_seen", "tokens seen")


COUNTS = st.lists(st.none() | st.integers(0, 50), max_size=6)


@given(counts=COUNTS)
def test_ticks_of_counts_are_whole_numbers_that_reach_the_largest(counts: list[int | None]) -> None:
    series = pl.Series("n", counts, dtype=pl.Int64)
    most = max((count for count in counts if count is not None), default=0)
    axis, scale = drawn_as(count_axis(series)), drawn_as(count_scale(series))
    if most <= FEW_TICKS:
        assert axis["values"] == list(range(max(1, most) + 1))
    else:
        assert axis == {"tickCount": FEW_TICKS}
    low, high = scale["domain"]
    assert low == 0
    # A scale from 0 to 0 would have no height.
    assert high == max(1, most)
