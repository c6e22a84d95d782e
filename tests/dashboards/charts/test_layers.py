"""Charts as functions from frames to drawings."""

import math
from typing import Any

import altair as alt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboards.charts import layers, spread
from dashboards.charts import tokens as tokens_charts
from dashboards.charts.models import Look
from dashboards.colours import model_colours

LOOK = Look({"small": "#44bf70", "large": "#440154"}, {"gelu": "another text"})
LAYERS = pl.DataFrame(
    {
        "model": ["small", "large", "gelu"],
        "layer": [0, 0, 0],
        "depth": [0.5, 0.25, 0.5],
        "dead_share": [0.1, 0.2, None],
        "n_dead": [1, 2, None],
        "n_neurons": [10, 10, 10],
        "n_tokens_seen": [1000, 1000, 1000],
    }
)


def fields(chart: alt.Chart) -> set[str]:
    return {tip["field"] for tip in chart.to_dict()["encoding"]["tooltip"]}


def rows(chart: alt.Chart | alt.LayerChart) -> list[dict[str, Any]]:
    (data,) = chart.to_dict()["datasets"].values()
    return list(data)


def test_dead_share_leaves_out_models_that_have_none_and_says_on_how_many_tokens() -> None:
    chart = layers.by_depth(LAYERS, "dead_share", LOOK)
    assert {row["model"] for row in rows(chart)} == {"small", "large"}
    assert {"n_tokens_seen", "n_dead", "n_neurons"} <= fields(chart)


def test_models_are_coloured_in_the_order_of_the_scale() -> None:
    scale = layers.by_depth(LAYERS, "dead_share", LOOK).to_dict()["encoding"]["color"]["scale"]
    assert scale == {"domain": ["small", "large"], "range": ["#44bf70", "#440154"]}


def test_a_model_keeps_its_colour_whichever_are_drawn() -> None:
    one = LAYERS.filter(pl.col("model") == "large")
    scale = layers.by_depth(one, "dead_share", LOOK).to_dict()["encoding"]["color"]["scale"]
    assert scale == {"domain": ["large"], "range": ["#440154"]}


def test_bars_show_white_space_and_keep_markup_as_text() -> None:
    tokens = pl.DataFrame(
        {
            "rank": [1, 2, 3],
            "token": [" school", "<script>", "\n"],
            "score": [3.0, 2.0, 1.0],
            "z_score": [3.0, 2.0, 1.0],
            "corpus_count": [5, 0, None],
        }
    )
    assert [row["token"] for row in rows(tokens_charts.token_bars(tokens, "#000000"))] == ["·school", "<script>", "↵"]


@pytest.mark.parametrize(("scores", "is_reversed"), [([3.0, 1.0], False), ([-3.0, -1.0], True)])
def test_the_strongest_bar_is_the_longest_on_either_side(scores: list[float], is_reversed: bool) -> None:
    numbers = {"rank": [1, 2], "token": ["a", "b"], "score": scores, "z_score": scores, "corpus_count": [1, 1]}
    encoding = tokens_charts.token_bars(pl.DataFrame(numbers), "#000000").to_dict()["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["reverse"] is is_reversed


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


def luminance(colour: str) -> float:
    """Relative luminance [WCAG 2.1]."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_the_larger_a_model_the_further_its_colour_is_from_the_background(theme: str, n: int) -> None:
    colours = list(model_colours([f"m{i}" for i in range(n)], theme=theme).values())
    # Lightness alone tells them apart, so any colour vision does.
    levels = [luminance(colour) for colour in colours]
    assert levels == sorted(levels, reverse=theme == "light")
    assert len(set(colours)) == n
    background = 1.0 if theme == "light" else 0.0065
    for level in levels:
        low, high = sorted((level, background))
        assert (high + 0.05) / (low + 0.05) > 2


def test_bars_leave_room_for_their_numbers() -> None:
    for scores in ([4.0, 1.0], [-4.0, -1.0], [4.0, -1.0], [0.0, 0.0]):
        tokens = pl.DataFrame({"rank": [1, 2], "token": ["a", "b"], "score": scores, "z_score": scores})
        drawn = tokens_charts.token_bars(tokens.with_columns(pl.lit(1).alias("corpus_count")), "#000000").to_dict()
        low, high = drawn["layer"][0]["encoding"]["x"]["scale"]["domain"]
        longest = max(scores, key=abs)
        assert low <= min(0, *scores)
        assert high >= max(0, *scores)
        assert (high if longest >= 0 else -low) > abs(longest)
