"""A neuron that is looked into beside a grid: at a coefficient below 0 it is shown as it is there."""

import polars as pl
import pytest

from neurothek.dashboards.live.inspected import strongest_at

WINDOWS = pl.DataFrame({"activation": [9.0, -8.0, 7.0]})
PLACES = pl.DataFrame({"activation": [9.0, 7.0, -8.0, -3.0], "pole": ["positive"] * 2 + ["negative"] * 2})


@pytest.mark.parametrize(
    ("coefficient", "in_windows", "places"), [(2.5, [9.0, 7.0], [9.0, 7.0]), (-2.5, [-8.0], [-8.0, -3.0])]
)
def test_contexts_are_of_the_sign_at_hand(coefficient: float, in_windows: list[float], places: list[float]) -> None:
    found = strongest_at(WINDOWS, PLACES, coefficient)
    assert [[row["activation"] for row in rows] for rows in found] == [in_windows, places]


def test_without_a_sign_there_are_those_of_both() -> None:
    found, places = strongest_at(WINDOWS, PLACES, 0.0)
    assert [row["activation"] for row in found] == [9.0, -8.0, 7.0]
    assert places == []
