"""Figures 3, 4, 14 and 15 on planted detectors: numbers by loops over the text, and why a figure is not drawn."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from neurothek.dashboards.papers.figure import Setting
from neurothek.dashboards.papers.material import Material
from tests.support import detectors as planted
from tests.support import ngrams as oracle
from tests.support.paper_figures import caption, drawing, figures, panels

MINIMA = (5, 10, 20)


def n_detectors(model: str, n: int, layer: int, least: int) -> int:
    """Neurons that few n-grams cover, nearly all of whose activations are on ones so frequent that always fire them."""
    number = 0
    for at, neuron in planted.NEURONS:
        lines = planted.lines(model, at, neuron)
        counts, seen = oracle.activations(lines, n), oracle.occurrences(lines, n)
        held = sum(c for ngram, c in counts.items() if seen[ngram] >= least and 20 * c >= 19 * seen[ngram])
        total = sum(counts.values())
        number += at == layer and total >= 100 and oracle.coverage(counts, 95) <= 50 and 100 * held >= 95 * total
    return number


def frequent_share(model: str, n: int, least: int) -> float:
    """The share of the positions whose n-gram occurs so often."""
    seen = oracle.occurrences(planted.lines(model, 0, 0), n).values()
    return sum(number for number in seen if number >= least) / sum(seen)


def relabelled(of: Material, *lengths: int) -> Material:
    """The same where n-grams of these lengths cannot be labelled."""
    kinds, lacks = of.kinds, pl.col("n").is_in(lengths)
    status = pl.when(lacks).then(pl.lit("cannot be labelled")).otherwise("status").alias("status")
    unknown = pl.when(~lacks).then("n_detected").alias("n_detected")
    less = replace(kinds, detectors=kinds.detectors.with_columns(status), detected=kinds.detected.with_columns(unknown))
    return replace(of, comparison=replace(of.comparison, typology=less))


def bars(part: dict[str, Any], whole: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Model -> the rows of its panel, of one length."""
    return {
        panel["title"]["text"]: whole["datasets"][panel.get("data", part.get("data"))["name"]]
        for panel in part["concat"]
    }


def lengths_of(of: Material) -> tuple[list[dict[str, Any]], dict[int, dict[str, list[dict[str, Any]]]]]:
    """The parts of Figure 14, and for each length the rows of its panels."""
    whole = drawing(figures(of)[14])
    parts = whole["vconcat"]
    return parts, {n: bars(part, whole) for n, part in zip((2, 3), parts[-1]["vconcat"], strict=True)}


def test_what_layers_detect_is_split_by_what_lies_below(ngrams: Material) -> None:
    layers = [
        {ngram for (at, _), one in planted.detectors("planted", 1).items() if at == layer for ngram in one.detected}
        for layer in (0, 1)
    ]
    ((_, rows), (_, shuffled)) = panels(figures(ngrams)[4])
    found = {(row["layer"], row["known"]): row["n_ngrams"] for row in rows}
    assert found == {
        (0, "nowhere below"): len(layers[0]),
        (0, "below, but not in the layer just below"): 0,
        (0, "in the layer just below"): 0,
        (1, "nowhere below"): len(layers[1] - layers[0]),
        (1, "below, but not in the layer just below"): 0,
        (1, "in the layer just below"): len(layers[1] & layers[0]),
    }
    assert {row["n_ngrams"] for row in shuffled} == {0}


def test_detectors_by_layer_are_counted_in_the_caption(ngrams: Material) -> None:
    number = len(planted.detectors("planted", 1))
    assert f"Detectors: {number} in planted, 0 in shuffled." in caption(figures(ngrams)[3])
    (_, rows), *_ = panels(figures(ngrams)[3])
    expected = Counter(layer for layer, _ in planted.detectors("planted", 1))
    assert {row["layer"]: row["n_detectors"] for row in rows if row["model"] == "planted"} == dict(expected)


def test_bars_are_detectors_of_ngrams_that_occur_so_often(ngrams: Material) -> None:
    _, found = lengths_of(ngrams)
    for n, models in found.items():
        # The shuffled text's neurons detect nothing: they have no panel, and the caption says so.
        assert list(models) == ["planted"]
        assert {(row["layer"], row["least_occurrences"]): row["n_detectors"] for row in models["planted"]} == {
            (layer, least): n_detectors("planted", n, layer, least) for layer in (0, 1) for least in MINIMA
        }
        # Bars stand one before the other: the shortest is drawn last.
        drawn = [row["least_occurrences"] for row in models["planted"]]
        assert drawn == sorted(drawn)
        by_least = [[row["n_detectors"] for row in models["planted"] if row["least_occurrences"] == m] for m in MINIMA]
        assert all(more >= fewer for bars in zip(*by_least, strict=True) for more, fewer in pairwise(bars))
    assert sum(n_detectors("shuffled", n, layer, 5) for n in (2, 3) for layer in (0, 1)) == 0


def test_the_caption_says_which_share_of_the_positions_frequent_ngrams_hold(ngrams: Material) -> None:
    said = caption(figures(ngrams)[14])
    for n, many in ((2, "Bigrams"), (3, "Trigrams")):
        told = [", ".join(f"{frequent_share(model, n, m):.1%}" for m in MINIMA) for model in planted.MODELS]
        assert f"{many} that occur 5, 10, 20 times hold {told[0]} (planted); {told[1]} (shuffled) of the pos" in said
    assert said.count("No detector of any: shuffled.") == 2
    assert frequent_share("shuffled", 3, 10) < 0.5 <= frequent_share("planted", 3, 10)
    assert "Under half of the positions carry trigrams (in shuffled) that occur 10 times" in said


def test_shares_that_models_have_in_common_are_said_once(ngrams: Material) -> None:
    alike = replace(ngrams, by_minimum=ngrams.by_minimum.with_columns(frequent_share=pl.lit(0.25)))
    assert "Trigrams that occur 5, 10, 20 times hold 25.0%, 25.0%, 25.0% of the positions." in caption(
        figures(alike)[14]
    )


def test_labelled_detectors_stand_above_as_long_as_they_are_known(ngrams: Material) -> None:
    parts, _ = lengths_of(ngrams)
    number = len(planted.detectors("planted", 3))
    assert len(parts) == 2
    assert parts[0]["hconcat"][0]["title"]["text"] == "(a) neurons that detect trigrams"
    assert f"Labelled detectors of trigrams: {number} in planted." in caption(figures(ngrams)[14])
    bigrams = relabelled(ngrams, 3)
    parts, _ = lengths_of(bigrams)
    assert parts[0]["hconcat"][0]["title"]["text"] == "(a) neurons that detect bigrams"
    assert "Bigrams, because trigrams cannot be labelled" in caption(figures(bigrams)[15])
    assert "Under half of the positions carry trigrams that occur 10 times" in caption(figures(bigrams)[14])


def test_where_nothing_can_be_labelled_detectors_are_counted_and_new_ngrams_are_not_drawn(ngrams: Material) -> None:
    neither = relabelled(ngrams, 2, 3)
    parts, found = lengths_of(neither)
    assert len(parts) == 1
    assert found == lengths_of(ngrams)[1]
    assert "Under half of the positions carry bigrams or trigrams that occur 10 times" in caption(figures(neither)[14])
    shares = {n: sorted(frequent_share(model, n, 10) for model in planted.MODELS) for n in (2, 3)}
    bigrams, trigrams = (f"{low:.1%} to {high:.1%}" for low, high in shares.values())
    assert figures(neither)[15].chart is None
    assert figures(neither)[15].why_not == (
        f"bigrams and trigrams cannot be labelled: bigrams that occur 10 times hold {bigrams} of the positions and such"
        f" trigrams {trigrams}, and it takes 50%"
    )


def test_where_nothing_is_detected_the_figure_says_how_much_could_have_been(ngrams: Material) -> None:
    none = ngrams.by_minimum.with_columns(n_detectors=pl.lit(0, pl.Int64))
    figure = figures(replace(relabelled(ngrams, 2, 3), by_minimum=none))[14]
    assert figure.chart is None
    shares = {n: sorted(frequent_share(model, n, 5) for model in planted.MODELS) for n in (2, 3)}
    bigrams, trigrams = (f"{low:.1%} to {high:.1%}" for low, high in shares.values())
    assert figure.why_not == (
        "no neuron of these models detects bigrams or trigrams on text, not even ones that occur 5 times;"
        f" such bigrams hold {bigrams} and such trigrams {trigrams} of the positions"
    )


@pytest.mark.parametrize("n_models", [1, 2])
def test_a_model_that_may_not_be_compared_has_a_star(ngrams: Material, n_models: int) -> None:
    look = replace(ngrams.look, why_not=dict.fromkeys(planted.MODELS[:n_models], "another text"))
    figure = figures(replace(ngrams, setting=Setting(look)))[14]
    (one,) = drawing(figure)["vconcat"][-1]["vconcat"][0]["concat"]
    assert one["title"]["subtitle"].endswith(" *")
    assert "Not comparable (dashed or *): planted (another text)" in caption(figure)
