"""How numbers spread: bins that hold every number once, on scales that show them."""

import math
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neurothek.dashboards.charts import spread
from neurothek.dashboards.charts.models import Look

LOOK = Look({"small": "#44bf70", "large": "#440154"}, {})


@settings(max_examples=50)
@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6, allow_subnormal=False)), max_size=60), st.booleans())
def test_bins_hold_every_number_once(values: list[float | None], is_log: bool) -> None:
    bins = spread.binned(pl.Series("value", values, dtype=pl.Float64), is_log=is_log)
    known = [value for value in values if value is not None and (value > 0 or not is_log)]
    assert bins.get_column("n_neurons").sum() == len(known)
    assert bins.height <= 40
    assert (bins.get_column("low") < bins.get_column("high")).all()
    if known and max(known) - min(known) > 1e-3:
        # Edges go through a logarithm and back: 1e-9 is a million times its rounding.
        assert math.isclose(bins.get_column("low")[0], min(known), rel_tol=1e-9, abs_tol=1e-9)
        assert math.isclose(bins.get_column("high")[-1], max(known), rel_tol=1e-9, abs_tol=1e-9)


def test_a_scatter_draws_no_more_points_than_can_be_drawn_and_always_the_same() -> None:
    neurons = pl.DataFrame({"address": [f"m/L0N{i}" for i in range(6000)], "x": range(6000), "y": range(6000)})
    drawn = spread.sample(neurons)
    assert drawn.height == spread.MOST_POINTS
    assert drawn.equals(spread.sample(neurons))
    assert drawn.get_column("x").is_sorted()
    spread.scatter(drawn, spread.Number("x", is_log=False), spread.Number("y", is_log=True), "#000000").to_dict()


@example(values=[0.0, -5 / 16, -40.4375, 53.1875])
@given(values=st.lists(st.integers(-1000, 1000).map(lambda number: number / 16), min_size=1, max_size=80))
def test_a_number_lies_in_the_bin_that_counts_it(values: list[float]) -> None:
    bins = spread.binned(pl.Series("value", values), is_log=False, n_bins=7).to_dicts()
    low, width = min(values), (max(values) - min(values)) / 7
    # Against a loop; of equal numbers there is one bar.
    counted: dict[int, int] = {}
    for value in values:
        place = 0 if width == 0 else min(6, math.floor((value - low) / width))
        counted[place] = counted.get(place, 0) + 1
    assert [one["n_neurons"] for one in bins] == [counted[place] for place in sorted(counted)]


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("value", [1e-12, 1.0, 5.0, 1e12])
def test_equal_numbers_are_a_bar_that_can_be_seen(value: float, is_log: bool) -> None:
    (one,) = spread.binned(pl.Series("value", [value] * 3), is_log=is_log).to_dicts()
    assert one["n_neurons"] == 3
    assert one["low"] == pytest.approx(value, rel=1e-9)
    assert one["high"] > one["low"]


def test_what_is_no_number_or_has_no_logarithm_is_left_out() -> None:
    values = pl.Series("value", [None, 0, -1, 10, 1000])
    assert spread.binned(values, is_log=True)["n_neurons"].sum() == 2
    assert spread.binned(values, is_log=False)["n_neurons"].sum() == 4
    for nothing in (pl.Series("value", [], dtype=pl.Float64), pl.Series("value", [0, -5])):
        empty = spread.binned(nothing, is_log=True)
        assert empty.is_empty()
        assert empty.columns == ["low", "high", "n_neurons"]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_sample_of_few_is_all_of_them(n: int) -> None:
    frame = pl.DataFrame({"x": range(n)})
    assert spread.sample(frame, 5) is frame
    assert spread.sample(pl.DataFrame({"x": range(9)}), 5).height == 5


def test_a_number_says_how_it_is_drawn() -> None:
    assert spread.Number("n_tokens_seen", is_log=False).title == "tokens seen"
    assert spread.Number("x", is_log=True).scale.to_dict() == {"type": "log", "nice": False, "padding": 8}
    assert spread.Number("x", is_log=False).scale.to_dict() == {"zero": False}


def test_a_rectangle_on_the_scatter_is_called_chosen() -> None:
    frame = pl.DataFrame({"address": ["m/L0N0"], "x": [1.0]})
    number = spread.Number("x", is_log=False)
    drawn = spread.scatter(frame, number, number, "#000000").to_dict()
    assert [one["name"] for one in drawn["params"]] == ["chosen"]


def test_a_line_leaves_out_models_of_which_nothing_is_dead() -> None:
    points = pl.DataFrame(
        {
            "model": ["small", "large"],
            "n_tokens": [10, 10],
            "dead_share": [0.5, None],
            "n_dead": [1, None],
            "n_neurons": [2, 2],
        }
    )
    (rows,) = spread.dead_by_tokens(points, LOOK).to_dict()["datasets"].values()
    assert [row["model"] for row in rows] == ["small"]


def test_a_distribution_is_a_line_a_model_over_powers_of_ten() -> None:
    bins = pl.DataFrame(
        {
            "model": ["small", "large"],
            "frequency": [0.01, 0.1],
            "frequency_from": [0.005, 0.05],
            "frequency_to": [0.02, 0.2],
            "share": [1.0, 1.0],
            "n_neurons": [3, 4],
            "n_tokens_seen": [100, 100],
        }
    )
    drawn = spread.frequency_distribution(bins, LOOK).to_dict()["encoding"]
    assert drawn["x"]["scale"] == {"type": "log"}
    assert drawn["color"]["scale"]["domain"] == ["small", "large"]
    assert {tip["field"] for tip in drawn["tooltip"]} == {*bins.columns} - {"frequency"}
    named = spread.frequency_distribution(bins, LOOK, title="effective frequency").to_dict()["encoding"]
    assert (drawn["x"]["title"], named["x"]["title"]) == ("frequency", "effective frequency")


def test_bins_of_whole_numbers_hold_each_and_none_is_empty_for_being_narrow() -> None:
    sizes = [4, 4, 5, 6, 7, 8, 8, 9, 10, 400]
    bins = spread.binned_counts(pl.Series("size", sizes)).to_dicts()
    assert bins[0]["low"] == 3.5
    assert bins[-1]["high"] > 400
    assert all(one["high"] == other["low"] for one, other in pairwise(bins))
    # Half numbers are the edges, so that each whole one lies in one bin, and every bin has room for one.
    assert all((2 * one["low"]) % 2 == 1 and one["high"] - one["low"] >= 1 for one in bins)
    assert [one["n_neurons"] for one in bins] == [
        sum(one["low"] < size < one["high"] for size in sizes) for one in bins
    ]
    assert all(one["n_neurons"] for one in bins if one["high"] < 10)
    # The wider ones are as wide as each other on a logarithmic axis, but for the next whole number.
    assert max(one["high"] / one["low"] for one in bins if one["low"] > 50) < 1.15


def test_one_size_is_one_bin_and_none_is_none() -> None:
    (one,) = spread.binned_counts(pl.Series("size", [3, 3])).to_dicts()
    assert one == {"low": 2.5, "high": 3.5, "n_neurons": 2}
    assert spread.binned_counts(pl.Series("size", [], dtype=pl.Int64)).is_empty()


def test_those_without_a_logarithm_have_a_bar_apart() -> None:
    bins = spread.binned(pl.Series("frequency", [0.01, 0.1, 0.1, 0.5]), is_log=True)
    number = spread.Number("frequency", is_log=True)
    drawn = spread.with_bar_apart(bins, number, ("#000001", "#000002"), n=7, word="dead").to_dict()
    others, bar, name = drawn["layer"]
    (apart,) = drawn["datasets"][bar["data"]["name"]]
    assert apart["n_neurons"] == 7
    # It stands clear of the first bin, and no number stands under it.
    first = bins["low"][0]
    assert 0 < apart["low"] < apart["high"] < first
    assert f"datum.value < {0.99 * first}" in others["encoding"]["x"]["axis"]["labelExpr"]
    assert [part["mark"]["color"] for part in (others, bar, name)] == ["#000001", "#000002", "#000002"]


def test_a_bar_apart_of_equal_numbers_can_be_seen() -> None:
    bins = spread.binned(pl.Series("frequency", [0.5, 0.5]), is_log=True)
    drawn = spread.with_bar_apart(bins, spread.Number("frequency", is_log=True), ("#1", "#2"), n=1, word="dead")
    (apart,) = drawn.to_dict()["datasets"][drawn.to_dict()["layer"][1]["data"]["name"]]
    assert apart["high"] / apart["low"] > 1.05


ACTIVATIONS = pl.DataFrame(
    {
        "bin": [-3, 0, 2, 10, 34],
        "low": [-0.0078125, 0.0, 0.00390625, 0.0625, 256.0],
        "high": [-0.005859375, 0.0, 0.005859375, 0.09375, None],
        "n_tokens": [4, 900, 1, 90, 5],
        "n_tokens_counted": [1_000] * 5,
    }
)


def test_bars_are_the_bins_but_that_of_zero() -> None:
    drawn = spread.activation_histogram(ACTIVATIONS, "#000001", "#000002").to_dict()
    (rows,) = drawn["datasets"].values()
    assert [row["n_tokens"] for row in rows] == [4, 1, 90, 5]
    assert [row["share"] for row in rows] == [0.004, 0.001, 0.09, 0.005]
    assert [row["sign"] for row in rows] == ["below 0", "above 0", "above 0", "above 0"]
    assert drawn["encoding"]["x"]["sort"] == [row["activation"] for row in rows]
    assert rows[-1]["activation"] == "256 to ∞"
    assert drawn["encoding"]["color"]["scale"]["range"] == ["#000001", "#000002"]


def test_a_bin_of_one_token_has_a_bar() -> None:
    drawn = spread.activation_histogram(ACTIVATIONS, "#000001", "#000002").to_dict()
    (rows,) = drawn["datasets"].values()
    assert {row["least"] for row in rows} == {drawn["encoding"]["y"]["scale"]["domainMin"]} == {0.8}
