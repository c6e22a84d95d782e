"""The paper's figures for planted warehouses: which are drawn and why not, what each draws, and the files."""

import duckdb
import pytest

from neurothek.dashboards.papers.material import Material
from tests.support import detectors as planted
from tests.support import tiny
from tests.support.paper_figures import caption, drawing, figures, material, panels

MODELS = [plan.name for plan in tiny.MODELS]


def test_what_was_not_measured_is_not_drawn_and_says_so(whole: Material, ngrams: Material) -> None:
    assert {n: one.why_not for n, one in figures(whole).items() if one.chart is None} == {
        **dict.fromkeys((2, 3, 4, 12, 13, 14, 15), "n-grams were not counted"),
        11: "there is no early checkpoint (variant 'step N') with its trained model",
        16: "there is no variant 'post-norm', a model with norms after its blocks",
    }
    assert {n: one.why_not for n, one in figures(ngrams).items() if one.chart is None} == {
        1: "no activity was measured",
        8: "positions were not measured",
        9: "no neuron fires nearly always at some positions and hardly ever at others",
        10: "there is no variant 'no-position' with a plain model of its size",
        11: "there is no early checkpoint (variant 'step N') with its trained model",
        16: "there is no variant 'post-norm', a model with norms after its blocks",
    }
    assert figures(whole)[8].name == "figure-08-positional-neurons"


def test_sizes_are_drawn_and_variants_are_not(whole: Material) -> None:
    assert whole.sizes() == ["weights-only", "tiny-1m", "gelu-1m", "tiny-2m"]
    for part, rows in panels(figures(whole)[1]):
        assert {row["model"] for row in rows} <= {"tiny-1m", "gelu-1m", "tiny-2m"}
        assert part["encoding"]["strokeDash"]["condition"]["test"]["oneOf"] == ["gelu-1m", "tiny-2m"]
    assert "Dashed, not comparable: gelu-1m (active means m > 0 instead of m != 0), tiny-2m (another text)." in caption(
        figures(whole)[1]
    )


def test_dead_shares_are_the_layers(whole: Material) -> None:
    (_, dead), (_, frequencies) = panels(figures(whole)[1])
    layers = {(row["model"], row["layer"]): row for row in whole.comparison.layers.to_dicts()}
    for rows, name in ((dead, "dead_share"), (frequencies, "mean_frequency")):
        for row in rows:
            assert row[name] == layers[row["model"], row["layer"]][name]
    # No neuron of a model without exact zeros is dead, so its line is missing and not at 0.
    assert {row["model"] for row in dead} == {"tiny-1m", "tiny-2m"}


def test_of_models_without_exact_zeros_no_figure_is_of_dead_neurons(full: duckdb.DuckDBPyConnection) -> None:
    smooth, relu = (figures(material(full, model))[1] for model in ("gelu-1m", "tiny-1m"))
    ((part, rows),) = panels(smooth)
    assert part["title"]["text"] == "activation frequency"
    assert rows
    assert drawing(smooth)["title"]["text"] == "Activation frequency by layer"
    assert "None is dead: no activation is exactly 0." in caption(smooth)
    assert "fired" not in caption(smooth)
    assert len(panels(relu)) == 2
    assert drawing(relu)["title"]["text"] == "Dead neurons and activation frequency by layer"
    assert "Frequency: mean over the neurons that fired." in caption(relu)


def test_a_bar_is_all_the_alive_neurons_of_a_layer_of_the_first_half(ngrams: Material) -> None:
    drawn = panels(figures(ngrams)[2])
    assert [part["title"]["text"] for part, _ in drawn] == list(planted.MODELS)
    for _, rows in drawn:
        assert {row["layer"] for row in rows} == {0}
        assert sum(row["share"] for row in rows) == pytest.approx(1)
