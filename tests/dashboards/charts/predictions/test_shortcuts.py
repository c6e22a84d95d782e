"""Charts of linear shortcuts: intervals under their lines, a number in each cell where there is room."""

from typing import Any

import altair as alt
import polars as pl
import pytest

from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.predictions.shortcuts import (
    METHOD_COLOURS,
    MOST_NUMBERS,
    PART_COLOURS,
    RAMPS,
    by_model,
    heat_map,
    of_one_model,
    part_fits,
    precision_of_model,
)
from tests.support.colours import contrast

LOOK = Look({"small": "#44bf70", "large": "#440154"}, {"large": "another text"})
NUMBERS = ("precision_1", "precision_5", "precision_10", "surprisal")


def quality(*methods: str, models: tuple[str, ...] = ("small",), n_states: int = 2) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {"model": model, "method": method, "state": state, "depth": state / n_states, "n": 200}
        | {f"{name}{end}": 0.5 for name in NUMBERS for end in ("", "_low", "_high")}
        for model in models
        for method in methods
        for state in range(n_states)
    ]
    return pl.DataFrame(rows)


def layers_of(chart: alt.LayerChart) -> dict[str, dict[str, Any]]:
    """Kind of mark -> the layer that is drawn with it."""
    return {layer["mark"]["type"]: layer for layer in chart.to_dict()["layer"]}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_line_lies_in_its_interval_under_one_title(number: str) -> None:
    for chart in (by_model(quality("mat", "id"), number, LOOK), of_one_model(quality("mat", "id"), number)):
        layers = layers_of(chart)
        assert list(layers) == ["area", "line", "point"]
        band, line = layers["area"]["encoding"], layers["line"]["encoding"]
        assert (band["y"]["field"], band["y2"]["field"]) == (f"{number}_low", f"{number}_high")
        assert line["y"]["field"] == number
        assert band["y"]["title"] == line["y"]["title"]
        told = {tip["field"] for tip in layers["point"]["encoding"]["tooltip"]}
        assert {"state", "n", number, f"{number}_low", f"{number}_high"} <= told
        # Precision is a share; surprisal has no largest value.
        assert ("domain" in line["y"].get("scale", {})) == (number != "surprisal")


def test_bands_leave_the_legend_its_full_colours() -> None:
    charts = (by_model(quality("mat", "id"), "surprisal", LOOK), of_one_model(quality("mat", "id"), "surprisal"))
    for layers in (layers_of(chart).values() for chart in charts):
        assert {layer["encoding"]["color"]["legend"]["symbolOpacity"] for layer in layers} == {1}


def test_methods_keep_their_colours_whichever_are_drawn() -> None:
    for methods in (("id",), ("mat_ffn", "mat"), tuple(METHOD_COLOURS)):
        scale = layers_of(of_one_model(quality(*methods), "surprisal"))["line"]["encoding"]["color"]["scale"]
        assert dict(zip(scale["domain"], scale["range"], strict=True)) == {one: METHOD_COLOURS[one] for one in methods}
        assert scale["domain"] == [one for one in METHOD_COLOURS if one in methods]


def test_precision_among_the_best_is_a_dash_for_each_number() -> None:
    chart = precision_of_model(quality("mat", n_states=3))
    (rows,) = chart.to_dict()["datasets"].values()
    assert {(row["k"], row["state"]) for row in rows} == {(k, state) for k in (1, 5, 10) for state in range(3)}
    scale = layers_of(chart)["line"]["encoding"]["strokeDash"]["scale"]
    assert scale["domain"] == [1, 5, 10]
    assert len({tuple(dash) for dash in scale["range"]}) == 3


def test_a_part_has_the_colour_of_the_method_that_replaces_it() -> None:
    for part, method in (("attention", "mat_attn"), ("ffn", "mat_ffn"), ("norm_1", "mat_ln1_ln2")):
        assert PART_COLOURS[part] == METHOD_COLOURS[method]
    fits = pl.DataFrame({"layer": [0, 0], "sub_module": ["norm_2", "ffn"], "r2": 0.5, "n_fit": 9, "n_validation": 3})
    scale = part_fits(fits).to_dict()["encoding"]["color"]["scale"]
    assert scale["domain"] == ["ffn", "norm_2"]


def fits(n_layers: int) -> pl.DataFrame:
    pairs = [(source, target) for source in range(n_layers) for target in range(source + 1, n_layers + 1)]
    columns = {"r2": -0.5, "condition": None, "rank": None, "n_fit": 9, "n_validation": 3}
    return pl.DataFrame([{"source_state": source, "target_state": target} | columns for source, target in pairs])


@pytest.mark.parametrize("theme", RAMPS)
@pytest.mark.parametrize("n_layers", [1, MOST_NUMBERS, MOST_NUMBERS + 1])
def test_cells_have_numbers_as_long_as_there_is_room(theme: str, n_layers: int) -> None:
    chart = heat_map(fits(n_layers), theme)
    layers = layers_of(chart)
    assert ("text" in layers) == (n_layers <= MOST_NUMBERS)
    cells = layers["rect"]["encoding"]
    assert cells["x"]["scale"]["domain"] == list(range(n_layers))
    assert cells["y"]["scale"]["domain"] == list(range(n_layers, 0, -1))
    # Worse than the mean is as pale as the mean.
    assert cells["color"]["scale"] == {"domain": [0, 1], "range": list(RAMPS[theme]), "clamp": True}


@pytest.mark.parametrize("theme", RAMPS)
def test_a_number_can_be_read_on_its_cell(theme: str) -> None:
    ink = layers_of(heat_map(fits(2), theme))["text"]["encoding"]["color"]
    pale, full = RAMPS[theme]
    # As WCAG 2.1 asks of text.
    assert contrast(ink["value"], pale) > 4.5
    assert contrast(ink["condition"]["value"], full) > 4.5
