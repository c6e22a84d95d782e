"""Bars of layers: lengths in proportion, links that lead to the layers, and nothing where there is nothing."""

import math
import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

from neurothek.dashboards.parts.explore.layer_bars import FREQUENCY_BINS_OF_LAYERS, N_BINS, layers_html, shown_bars
from neurothek.queries.ask.one_query import run_query

SMOOTH = "gelu-1m"

NO_BINS = pl.DataFrame(schema={"layer": pl.Int64, "bin": pl.Int64, "n_neurons": pl.Int64})


def test_what_is_unknown_or_nought_everywhere_has_no_bars() -> None:
    layers = pl.DataFrame(
        {
            "layer": [0, 1],
            "dead_share": [0.0, 0.0],
            "median_frequency": [0.5, None],
            "n_detectors": [None, None],
            "n_positional": [0, 3],
        },
        schema_overrides={"n_detectors": pl.Int64},
    )
    assert [bar.column for bar in shown_bars(layers)] == ["median_frequency", "n_positional"]


def test_shares_below_a_hundredth_have_no_bars() -> None:
    known = {"layer": [0, 1], "dead_share": [None, None], "median_effective_frequency": [0.2, 0.005]}
    layers = pl.DataFrame({**known, "negligible_share": [0.0099, 0.001], "n_positional": [1, 0]})
    assert [bar.column for bar in shown_bars(layers)] == ["median_effective_frequency", "n_positional"]
    seen = layers.with_columns(negligible_share=pl.Series([0.01, 0.0]))
    assert next(bar.column for bar in shown_bars(seen)) == "negligible_share"


def test_never_active_stands_in_only_where_none_can_be_dead() -> None:
    both = pl.DataFrame({"layer": [0], "dead_share": [0.1], "never_active_share": [0.1]})
    assert [bar.column for bar in shown_bars(both)] == ["dead_share"]
    assert [bar.column for bar in shown_bars(both.drop("dead_share"))] == ["never_active_share"]


def test_without_exact_zeros_bars_are_of_sparseness_and_of_what_is_negligible() -> None:
    known = {"never_active_share": [0.1], "median_frequency": [0.5], "median_effective_frequency": [0.2]}
    smooth = pl.DataFrame({"layer": [0], "dead_share": [None], "negligible_share": [0.25], **known})
    assert [bar.column for bar in shown_bars(smooth)] == ["negligible_share", "median_effective_frequency"]
    relu = smooth.with_columns(dead_share=pl.lit(0.1))
    assert [bar.column for bar in shown_bars(relu)] == ["dead_share", "median_frequency"]
    bins = pl.DataFrame({"layer": [0], "bin": [3], "n_neurons": [9]})
    assert "Neurons by effective frequency, from" in layers_html(smooth, bins, "#123456", {"model": "m"})
    assert "Neurons that fired, from" in layers_html(relu, bins, "#123456", {"model": "m"})


def test_lengths_are_shares_of_the_largest() -> None:
    layers = pl.DataFrame({"layer": [0, 1, 2], "n_positional": [2, 8, 0], "median_frequency": [0.1, None, 0.4]})
    drawn = layers_html(layers, NO_BINS, "#123456", {"model": "m"})
    assert sorted(map(float, re.findall(r"width: ([\d.]+)%", drawn))) == [25.0, 25.0, 100.0, 100.0]
    assert drawn.count("<b>-</b>") == 1
    assert "Largest: 40.0%." in drawn


def test_a_layer_leads_to_its_page_and_the_one_looked_at_is_bold() -> None:
    layers = pl.DataFrame({"layer": [0, 1], "n_positional": [2, 8]})
    drawn = layers_html(layers, NO_BINS, "#123456", {"model": "a<b", "corpus": "c"}, current=1)
    assert 'href="/layer?model=a%3Cb&amp;corpus=c&amp;layer=0"' in drawn
    assert drawn.count("<b><a ") == 1
    assert "a<b" not in drawn


@pytest.mark.parametrize("model", ["tiny-2m", SMOOTH])
def test_bins_of_frequency_are_those_of_a_loop(full_path: Path, model: str) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        found = run_query(connection, FREQUENCY_BINS_OF_LAYERS, {"model": model})
        neurons = connection.sql(
            "select layer, frequency, effective_frequency, is_dead from neurons where model = $model",
            params={"model": model},
        ).fetchall()
    expected: dict[tuple[int, int], int] = {}
    for layer, of_firing, effective, is_dead in neurons:
        assert (is_dead is None) == (model == SMOOTH)
        frequency = effective if is_dead is None else of_firing
        if frequency:
            bin_ = min(max(math.floor(6 * math.log10(frequency)), -24), -1) + 24
            expected[layer, bin_] = expected.get((layer, bin_), 0) + 1
    assert {(row["layer"], row["bin"]): row["n_neurons"] for row in found.to_dicts()} == expected
    drawn = layers_html(pl.DataFrame({"layer": [0]}), found, "#123456", {"model": model})
    assert len(re.findall(r'<i style="height', drawn)) == N_BINS
    assert "height: 100%" in drawn
