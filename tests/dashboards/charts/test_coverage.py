"""Coverage and new n-grams: parts of a bar add up to the whole, in an order that can be read from the foot up."""

from typing import Any

import altair as alt
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.dashboards.charts.coverage import coverage, detectors_by_minimum, new_ngrams

PANELS = [("small", "under small"), ("large", "")]


def parts(chart: alt.ConcatChart) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    whole = chart.to_dict()
    # Of a single panel the data stand above it.
    return [(one, whole["datasets"][(one.get("data") or whole["data"])["name"]]) for one in whole["concat"]]


def bins_of(model: str) -> list[dict[str, Any]]:
    names = ["too few", "1", "2-5", "more"]
    return [
        {"model": model, "layer": 0, "bin": name, "bin_order": order, "n_neurons": order + 1, "share": 0.25}
        for order, name in enumerate(names)
    ]


def test_the_most_specialised_stand_at_the_foot_and_the_rare_ones_at_the_top() -> None:
    frame = pl.DataFrame([*bins_of("large"), *bins_of("small")]).sample(fraction=1, shuffle=True, seed=1)
    for panel, rows in parts(coverage(frame, PANELS)):
        by_place = [row["bin"] for row in sorted(rows, key=lambda row: row["place"])]
        assert by_place == ["1", "2-5", "more", "too few"]
        assert panel["encoding"]["color"]["scale"]["domain"] == by_place
        assert panel["encoding"]["y"]["scale"]["domain"] == [0, 1]


def test_the_same_bin_has_the_same_colour_in_every_panel() -> None:
    frame = pl.DataFrame([*bins_of("small"), *bins_of("large")[:2]])
    scales = [panel["encoding"]["color"]["scale"] for panel, _ in parts(coverage(frame, PANELS))]
    assert scales[0] == scales[1]


def counts_of(detected: int, new: int, new_vs_previous: int) -> dict[str, int]:
    return {"n_detected": detected, "n_new": new, "n_new_vs_previous": new_vs_previous}


# What is new at all is new against the layer below, and that is detected.
LAYERS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)).map(sorted),
    min_size=1,
    max_size=4,
)


@settings(max_examples=20)
@given(layers=LAYERS)
def test_parts_add_up_to_what_is_detected(layers: list[list[int]]) -> None:
    rows: list[dict[str, Any]] = [
        {"model": "small", "layer": layer, **counts_of(detected, new, new_vs_previous)}
        for layer, (new, new_vs_previous, detected) in enumerate(layers)
    ]
    ((panel, drawn),) = parts(new_ngrams(pl.DataFrame(rows), PANELS[:1]))
    known = panel["encoding"]["color"]["scale"]["domain"]
    found = {(row["layer"], known.index(row["known"])): row["n_ngrams"] for row in drawn}
    for layer, (new, new_vs_previous, detected) in enumerate(layers):
        assert [found[layer, part] for part in range(3)] == [new, new_vs_previous - new, detected - new_vs_previous]
    assert {row["place"] for row in drawn} == {0, 1, 2}
    assert panel["encoding"]["y"]["scale"]["domain"][1] >= max(1, *(row["n_detected"] for row in rows))


def test_bars_of_more_occurrences_are_drawn_before_those_of_fewer() -> None:
    rows = [
        {"model": "small", "layer": layer, "least_occurrences": least, "n_detectors": 30 // least}
        for least in (20, 5, 10)
        for layer in (0, 1)
    ]
    frame = pl.DataFrame(rows).with_columns(n_alive=pl.lit(9), frequent_share=pl.lit(0.5))
    ((panel, drawn),) = parts(detectors_by_minimum(frame, PANELS[:1]))
    assert [row["least_occurrences"] for row in drawn] == [5, 5, 10, 10, 20, 20]
    assert panel["encoding"]["y"]["stack"] is False
    assert panel["encoding"]["color"]["scale"]["domain"] == [5, 10, 20]
    # Stacked, the axis would have to end at the sum.
    assert panel["encoding"]["y"]["scale"]["domain"] == [0, 6]
