"""Effects on the range of their random sets: every number that is drawn is a number of the rows."""

from json import loads
from typing import Any

import altair as alt
import polars as pl
import pytest

from neurothek.dashboards.charts.effects import (
    GREY,
    by_position,
    effects,
    neurons_alone,
    ranges_in_words,
)
from tests.support.colours import contrast

RANGE = ("random_effect_least", "random_effect_most")


def row(name: str, effect: float, **more: Any) -> dict[str, Any]:
    return {
        "intervention": name,
        "n_neurons": 4,
        "n_tokens": 900,
        "effect": effect,
        "percentile": 95.0,
        "random_effect": 0.1,
        "random_effect_least": -0.05,
        "random_effect_most": 0.2,
        "n_sets": 20,
        "kl": 0.3,
        **more,
    }


def layers(chart: alt.LayerChart) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each layer with its rows."""
    whole = chart.to_dict()
    data = whole["datasets"]
    return [(layer, data[layer.get("data", whole.get("data"))["name"]]) for layer in whole["layer"]]


def fields(layer: dict[str, Any]) -> set[str]:
    return {channel["field"] for channel in layer["encoding"].values() if isinstance(channel, dict)}


def test_a_dot_stands_on_the_range_of_its_random_sets() -> None:
    rows = pl.DataFrame([row("large", 0.5), row("small", -0.1)])
    (zero, _), (span, _), (mean, _), (dot, drawn) = layers(effects(rows, "#2f5d8a"))
    assert zero["mark"]["type"] == "rule"
    assert (span["encoding"]["x"]["field"], span["encoding"]["x2"]["field"]) == RANGE
    assert mean["encoding"]["x"]["field"] == "random_effect"
    assert dot["encoding"]["x"]["field"] == "effect"
    assert [one["effect"] for one in drawn] == [0.5, -0.1]
    # In the order of the rows, which are sorted by effect, and not by name.
    assert dot["encoding"]["y"]["sort"] == ["large", "small"]
    told = {tip["field"] for tip in dot["encoding"]["tooltip"]}
    assert {"effect", "percentile", "random_effect", *RANGE, "n_sets", "n_neurons", "kl"} <= told
    assert span["mark"]["color"] == mean["mark"]["color"] == GREY


def test_more_interventions_have_more_room() -> None:
    def height(n: int) -> int:
        chart = effects(pl.DataFrame([row(f"{number}", 0.0) for number in range(n)]), "#000000")
        assert isinstance(chart.height, int)
        return chart.height

    assert height(1) == height(2) < height(3)
    assert height(9) - height(8) == height(4) - height(3)


def labels(layer: dict[str, Any]) -> dict[str, str]:
    """Place of a row -> what the axis says of it."""
    expression = layer["encoding"]["y"]["axis"]["labelExpr"]
    parsed: dict[str, str] = loads(expression.removeprefix("(").removesuffix(")[datum.value]"))
    return parsed


def test_places_are_ranges_of_positions_in_order_under_each_other_by_domain() -> None:
    rows = pl.DataFrame(
        [
            row("mine", 0.5, domain=domain, position_from=start)
            for domain in ("prose", "code")
            for start in (64, 0, 8, 1)
        ]
    )
    (_, _), (span, _), (dot, drawn) = layers(by_position(rows, "#2f5d8a"))
    order = ["0", "1 to 7", "8 to 63", "from 64"]
    assert {(one["position_from"], one["positions"]) for one in drawn} == set(zip((0, 1, 8, 64), order, strict=True))
    places = [f"{domain}, {name}" for domain in ("code", "prose") for name in order]
    assert dot["encoding"]["y"]["sort"] == [one["row"] for one in drawn] == places
    assert dot["encoding"]["y"] == span["encoding"]["y"]
    # A group says its name once.
    assert list(labels(dot).values()) == ["code, 0", *order[1:], "prose, 0", *order[1:]]
    assert (span["encoding"]["x"]["field"], span["encoding"]["x2"]["field"]) == RANGE
    assert (dot["mark"]["color"], span["mark"]["color"]) == ("#2f5d8a", GREY)
    assert {"domain", "positions", "n_tokens"} <= {tip["field"] for tip in dot["encoding"]["tooltip"]}


def test_a_name_that_is_code_stays_a_name() -> None:
    rows = pl.DataFrame([row("mine", 0.5, domain="a'\"})[0]", position_from=0)])
    _, _, (dot, _) = layers(by_position(rows, "#000000"))
    assert labels(dot) == {"a'\"})[0], from 0": "a'\"})[0], from 0"}


@pytest.mark.parametrize(
    ("starts", "words"),
    [
        ((0,), ["from 0"]),
        ((0, 1, 8, 64, 512), ["0", "1 to 7", "8 to 63", "64 to 511", "from 512"]),
        ((0, 2048, 4096), ["0 to 2,047", "2,048 to 4,095", "from 4,096"]),
    ],
)
def test_ranges_end_where_the_next_begins(starts: tuple[int, ...], words: list[str]) -> None:
    assert ranges_in_words(starts) == dict(zip(starts, words, strict=True))


def test_single_neurons_lie_over_the_random_ones_of_their_layer() -> None:
    effect = {(0, True): (0.3, -0.1, 0.2), (0, False): (0.9,), (1, True): (0.5,), (1, False): (-0.4, 0.6)}
    rows = pl.DataFrame(
        [
            {"address": f"m/L{layer}N{n}", "layer": layer, "is_control": is_control, "effect_on_loss": value}
            for (layer, is_control), values in effect.items()
            for n, value in enumerate(values)
        ]
    ).with_columns(pl.lit(50.0).alias("effect_percentile"))
    (_, _), (band, ends), (dots, drawn) = layers(neurons_alone(rows, "#2f5d8a"))
    assert {one["layer"]: (one["least"], one["most"], one["n"]) for one in ends} == {
        0: (-0.1, 0.3, 3),
        1: (0.5, 0.5, 1),
    }
    assert {"least", "most", "layer"} <= fields(band)
    assert sorted(one["effect_on_loss"] for one in drawn) == [-0.4, 0.6, 0.9]
    assert dots["mark"]["color"] == "#2f5d8a"


@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"])
def test_grey_is_seen_on_white_and_on_black(background: str) -> None:
    assert contrast(GREY, background) > 3
