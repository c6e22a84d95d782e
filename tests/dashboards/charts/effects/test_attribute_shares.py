"""Shares of continuations by method: Wilson's interval of one set, the least and the largest of several."""

from typing import Any

import polars as pl
import pytest

from neurothek.dashboards.charts.effects import STEERED_COLOURS, attribute_shares
from tests.dashboards.charts.effects.test_effect_ranges import layers
from tests.support.colours import contrast


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
    rows = pl.DataFrame([row(method) for method in sorted(STEERED_COLOURS)], infer_schema_length=None)
    (span, drawn), (dot, _) = layers(attribute_shares(rows))
    ends = {one["method"]: (one["low"], one["high"]) for one in drawn}
    assert ends == {method: (0.1, 0.9) if method == "random" else (0.3, 0.5) for method in STEERED_COLOURS}
    assert (span["encoding"]["x"]["field"], span["encoding"]["x2"]["field"]) == ("low", "high")
    assert dot["encoding"]["x"]["field"] == "share"
    assert dot["encoding"]["x"]["scale"]["domain"] == [0, 1]
    # Methods are compared in one order: the untouched model first.
    assert dot["encoding"]["yOffset"]["sort"] == list(STEERED_COLOURS)
    assert {one["scored"] for one in drawn} == {"bad (words:bad.txt)"}
    assert {"percentile", "n_continuations", "n_sets"} <= {tip["field"] for tip in dot["encoding"]["tooltip"]}


def test_methods_that_were_not_run_are_no_part_of_the_legend() -> None:
    rows = pl.DataFrame([row("changed"), row("untouched"), row("changed", "worse")], infer_schema_length=None)
    chart = attribute_shares(rows)
    _, (dot, _) = layers(chart)
    assert dot["encoding"]["color"]["scale"]["domain"] == ["untouched", "changed"]
    assert isinstance(chart.height, int)


@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"])
@pytest.mark.parametrize("method", STEERED_COLOURS)
def test_colours_are_seen_on_white_and_on_black(method: str, background: str) -> None:
    assert contrast(STEERED_COLOURS[method], background) > 2.2
