"""Points against size: where they stand, which have their number, and what sets variants apart."""

from typing import Any

import polars as pl
import pytest

from neurothek.dashboards.charts.models import Look, against_size, labelled

LOOK = Look({"a-1m": "#44bf70", "a-2m": "#21918c", "a-2m-seed": "#3b528b", "a-4m": "#440154"}, {})
ROWS = pl.DataFrame(
    {
        "model": ["a-1m", "a-2m", "a-2m-seed", "a-4m"],
        "family": ["a"] * 4,
        "size": [1_000_000, 2_000_000, 2_000_000, 4_000_000],
        "is_size": [True, True, False, True],
        "size_label": ["1.0M", "2.0M", "2.0M", "4.0M"],
        "value": [0.0, 0.1, 0.3, 0.2],
        "value_label": ["0%", "10%", "30%", "20%"],
    }
)


def drawn() -> dict[str, Any]:
    chart: dict[str, Any] = against_size(labelled(ROWS), LOOK, "#222222").to_dict()
    return chart


def test_each_size_is_a_point_with_its_number_and_variants_go_without() -> None:
    assert labelled(ROWS).get_column("value_label").to_list() == ["0%", "10%", "", "20%"]
    (rows,) = drawn()["datasets"].values()
    assert [row["value"] for row in rows] == [0.0, 0.1, 0.3, 0.2]
    line, points, numbers = drawn()["layer"]
    # The line leaves out variants, whose points are hollow.
    assert line["transform"] == [{"filter": "datum.is_size"}]
    assert points["encoding"]["fill"]["value"] == "transparent"
    assert points["encoding"]["fill"]["condition"]["test"] == "datum.is_size"
    assert numbers["encoding"]["text"]["field"] == "value_label"


def test_the_axis_says_that_sizes_leave_out_embeddings() -> None:
    across = drawn()["layer"][0]["encoding"]["x"]
    assert across["title"] == "parameters without embeddings"
    assert across["scale"]["type"] == "log"
    assert across["axis"]["values"] == [1_000_000, 2_000_000, 4_000_000]
    assert "'4000000': '4.0M'" in across["axis"]["labelExpr"]


def test_the_scale_begins_at_0_and_has_room_for_the_highest_number() -> None:
    low, high = drawn()["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low == 0
    assert high > 0.3


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1, 2, 3, 4], [0, 1, 2, 3]),
        # Of many those of the ends, the least and the largest.
        ([2, 9, 5, 1, 6, 7], [0, 1, 3, 5]),
        ([1, 2, 3, 4, 5, 6], [0, 5]),
    ],
)
def test_of_many_points_few_have_their_number(values: list[int], told: list[int]) -> None:
    rows = pl.DataFrame(
        {
            "model": [f"m{place}" for place in range(len(values))],
            "size": [10**place for place in range(len(values))],
            "is_size": [True] * len(values),
            "value": values,
            "value_label": [str(value) for value in values],
        }
    )
    labels = labelled(rows).get_column("value_label").to_list()
    assert [place for place, label in enumerate(labels) if label] == told
