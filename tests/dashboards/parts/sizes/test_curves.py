"""Curves by depth: which have nothing to see and what is said instead; kinds summed over layers."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from neurothek.dashboards.charts.layers import OfLayer
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.parts.sizes.curves import Curve, _few_detectors, _these, by_kind, covering_text, few_of_kind
from neurothek.dashboards.parts.sizes.selection import Sizes
from neurothek.dashboards.widgets.figures import Data
from neurothek.queries.compare.kinds import KINDS
from tests.dashboards.conftest import Opener
from tests.dashboards.parts.sizes.test_conclusions import SIZES, shown_text
from tests.support.size_warehouse import create


def curve(number: OfLayer, *values: Any) -> Curve:
    return Curve("title", Data("name", "", pl.DataFrame({number: list(values)})), number, "", "", "nothing")


def test_zeros_and_a_single_detector_are_not_drawn(subtests: pytest.Subtests) -> None:
    for one, is_sparse in [
        (curve("dead_share", 0.0, 0.0), True),
        (curve("dead_share", None, 0.0), True),
        (curve("dead_share", 0.0, 1.0), False),
        (curve("n_detectors", 0, 0), True),
        (curve("n_detectors", 0, 1, 0), True),
        (curve("n_detectors", 1, 1), False),
        (curve("n_detectors", 2), False),
    ]:
        with subtests.test(one=one, is_sparse=is_sparse):
            assert one.is_sparse == is_sparse


def test_a_single_detector_is_named_with_its_layer() -> None:
    rows = pl.DataFrame({"model": ["a", "b", "b"], "layer": [0, 0, 1], "n_detectors": [0, 0, 1]})
    assert _few_detectors(rows, "on a text") == "One neuron alone detects a token, in layer 1 of b."
    none = rows.with_columns(pl.lit(0).alias("n_detectors"))
    assert _few_detectors(none, "on a text") == "No neuron of these models detects a token, on a text."


def test_a_share_of_few_neurons_is_said_in_words() -> None:
    rows = pl.DataFrame({"model": ["a", "b", "b"], "layer": [0, 0, 1], "n_negligible": [2, 0, 7]})
    told = "9 neurons are negligible on a text: 7 in layer 1 of b, 2 in layer 0 of a."
    assert few_of_kind(rows, "n_negligible", "negligible", "of these models", "on a text") == told
    one = few_of_kind(rows[:1].with_columns(n_dead=1), "n_dead", "dead", "of a", "on a text")
    assert one == "1 neuron is dead on a text: 1 in layer 0 of a."
    none = few_of_kind(rows[1:2], "n_negligible", "negligible", "of b", "on a text")
    assert none == "No neuron of b is negligible on a text."
    small, large = curve("negligible_share", 0.0099, 0.001), curve("negligible_share", 0.01, 0.001)
    assert [replace(small, n_neurons=n).is_sparse for n in (1, 9, 10, None)] == [True, True, False, False]
    assert not any(replace(large, n_neurons=n).is_sparse for n in (1, 9, 10, None))


def test_the_coverage_of_the_text_itself_is_told() -> None:
    assert covering_text([1234]) == "Of the text itself 1,234 tokens hold 95%."
    assert covering_text([5, 9]) == "Of the text itself 5 or 9 tokens hold 95%."
    assert covering_text([]) == ""


def test_on_a_page_of_both_sorts_of_models_they_are_named() -> None:
    sizes = cast("Sizes", SimpleNamespace(names=("a", "b", "c")))
    assert _these(sizes, pl.DataFrame({"model": ["c", "a", "c"]})) == "a, c"
    assert _these(sizes, pl.DataFrame({"model": ["c", "b", "a"]})) == "these models"


def test_a_sentence_about_some_of_the_models_names_them(page: Opener, whole_path: Path) -> None:
    """Of one with exact zeros and one without, each figure is about one of them alone."""
    text = shown_text(page(whole_path, models="tiny-1m,gelu-1m"))
    assert "as no activation of gelu-1m is exactly 0" in text
    assert "of these models is exactly 0" not in text
    assert "Neurons that fired at least once" in text
    smooth = shown_text(page(whole_path, models="gelu-1m"))
    assert "as no activation of these models is exactly 0" in smooth
    assert "Neurons by effective frequency" in smooth
    assert "fired at least once" not in smooth


def test_what_was_not_measured_stands_last_with_its_commands(page: Opener, tmp_path: Path) -> None:
    create(tmp_path / "made.duckdb", SIZES)
    text = shown_text(page(tmp_path / "made.duckdb"))
    assert "Not measured yet" in text
    for job in ("ngrams", "positions", "events", "shortcuts", "exits"):
        assert f"--job {job}" in text


def test_models_that_lack_what_others_have_are_named_with_a_command_of_their_own(
    page: Opener, whole_path: Path
) -> None:
    """Shortcuts were fitted to three of four models that read a text."""
    text = shown_text(page(whole_path, models="tiny-1m,tiny-2m,tiny-2m-nopos,gelu-1m"))
    assert "Linear shortcuts were not fitted: tiny-2m-nopos." in text
    assert re.search(r"neurothek ingest tiny-2m-nopos( --job \w+)* --job shortcuts", text)
    assert "N-grams were not counted, so token detectors are unknown." in text
    # Each on the text that its other numbers rest on.
    assert re.search(r"neurothek ingest tiny-1m gelu-1m tiny-2m-nopos --job ngrams( --job \w+)* --corpus builtin", text)
    assert re.search(r"neurothek ingest tiny-2m --job ngrams( --job \w+)* --corpus long", text)


def test_kinds_are_summed_over_layers(whole: Material) -> None:
    """Against the positional neurons themselves, one by one."""
    counted = by_kind(whole.kinds.positions.filter(pl.col("n_positional").is_not_null()))
    found = {(row["model"], row["kind"]): (row["n_neurons"], row["n_strong"]) for row in counted.to_dicts()}
    assert {kind for _, kind in found} == {*KINDS}
    for (model, kind), numbers in found.items():
        own = whole.positional.filter(model=model, position_kind=kind)
        assert numbers == (own.height, own.filter(position_strength="strong").height)
    assert sum(n for n, _ in found.values()) == whole.positional.height > 5
