"""What figures of several papers share: a panel per model, numbers and texts in words."""

import altair as alt
import polars as pl

from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.papers.figure import (
    corpora_in,
    depth_panels,
    model_panels,
    models_in,
    not_comparable,
    number_in,
)

ROWS = pl.DataFrame({"model": ["b", "b", "a", "c", "d"], "corpus": ["x", "x", "y", "x", "x"], "n": [3, 3, 2, 3, 4000]})


def test_each_model_has_a_panel_of_its_own_rows() -> None:
    drawn: list[pl.DataFrame] = []

    def draw(rows: pl.DataFrame) -> alt.Chart:
        drawn.append(rows)
        chart: alt.Chart = alt.Chart(rows).mark_point()
        return chart

    whole = model_panels(ROWS, draw, width=100, height=50).to_dict()
    assert [panel["title"]["text"] for panel in whole["concat"]] == models_in(ROWS) == ["b", "a", "c", "d"]
    assert [rows.height for rows in drawn] == [2, 1, 1, 1]
    assert whole["columns"] == 3
    assert {(panel["width"], panel["height"]) for panel in whole["concat"]} == {(100, 50)}


def test_numbers_of_layers_stand_side_by_side_in_the_models_colours() -> None:
    rows = pl.DataFrame({"model": ["a", "b"], "layer": 0, "depth": 0.5, "n_detectors": [1, 2], "n_detected": [3, 4]})
    look = Look({"a": "#44bf70", "b": "#440154"}, {})
    whole = depth_panels(rows, [("n_detectors", "first"), ("n_detected", "second")], look).to_dict()
    assert [panel["title"]["text"] for panel in whole["hconcat"]] == ["first", "second"]
    assert [panel["encoding"]["y"]["field"] for panel in whole["hconcat"]] == ["n_detectors", "n_detected"]
    assert whole["resolve"]["scale"]["color"] == "shared"


def test_captions_say_numbers_and_texts() -> None:
    assert number_in(ROWS, "n") == "2 to 4,000"
    assert number_in(ROWS.filter(model="b"), "n") == "3"
    assert corpora_in(ROWS) == "x, y"
    look = Look({}, {"a": "another text", "z": "unseen"})
    assert not_comparable(ROWS, look) == ["Not comparable: a (another text)."]
    assert not_comparable(ROWS.filter(model="b"), look) == []
