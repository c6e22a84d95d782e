"""Shares of continuations by method: Wilson's interval of one set, the least and the largest of several."""

from typing import Any

import polars as pl

from neurothek.dashboards.charts.effects import GREY, METHODS, attribute_shares
from tests.dashboards.charts.effects.test_effect_ranges import labels, layers


def row(method: str, attribute: str = "bad") -> dict[str, Any]:
    is_random = method == "random"
    return {
        "scorer": "words:bad.txt",
        "attribute": attribute,
        "method": method,
        "n_sets": 20 if is_random else 1,
        "n_continuations": 50,
        "share": 0.4,
        "share_low": None if is_random else 0.3,
        "share_high": None if is_random else 0.5,
        "share_least": 0.1 if is_random else 0.4,
        "share_most": 0.9 if is_random else 0.4,
        "percentile": 70.0 if method == "changed" else None,
    }


def test_an_interval_is_wilsons_and_that_of_random_sets_their_range() -> None:
    rows = pl.DataFrame([row(method) for method in sorted(METHODS)], infer_schema_length=None)
    (span, drawn), (dot, _) = layers(attribute_shares(rows, "#2f5d8a"))
    ends = {one["method"]: (one["low"], one["high"]) for one in drawn}
    assert ends == {method: (0.1, 0.9) if method == "random" else (0.3, 0.5) for method in METHODS}
    assert (span["encoding"]["x"]["field"], span["encoding"]["x2"]["field"]) == ("low", "high")
    assert dot["encoding"]["x"]["field"] == "share"
    assert dot["encoding"]["x"]["scale"]["domain"] == [0, 1]
    # Methods are compared in one order: the untouched model first.
    assert [one["method"] for one in drawn] == list(METHODS)
    assert list(labels(dot).values()) == ["bad, untouched", "changed", "random", "word filter", "self debiasing"]
    assert {"percentile", "n_continuations", "n_sets"} <= {tip["field"] for tip in dot["encoding"]["tooltip"]}


def test_the_changed_model_alone_has_a_colour() -> None:
    _, (dot, _) = layers(attribute_shares(pl.DataFrame([row("changed"), row("untouched")]), "#2f5d8a"))
    colour = dot["encoding"]["color"]
    assert (colour["condition"]["test"], colour["condition"]["value"]) == (
        {"field": "method", "equal": "changed"},
        "#2f5d8a",
    )
    assert colour["value"] == GREY


def test_methods_that_were_not_run_have_no_row_and_scorers_are_named_where_there_are_several() -> None:
    other = {**row("changed"), "scorer": "words:worse.txt"}
    rows = pl.DataFrame([row("changed"), row("untouched"), other], infer_schema_length=None)
    chart = attribute_shares(rows, "#2f5d8a")
    _, (dot, drawn) = layers(chart)
    assert [one["name"] for one in drawn] == ["untouched", "changed", "changed"]
    assert {one["scored"] for one in drawn} == {"bad (words:bad.txt)", "bad (words:worse.txt)"}
    assert list(labels(dot).values()) == [
        "bad (words:bad.txt), untouched",
        "changed",
        "bad (words:worse.txt), changed",
    ]
    assert isinstance(chart.height, int)
