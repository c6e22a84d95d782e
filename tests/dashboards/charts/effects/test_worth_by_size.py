"""Worth of kinds, models in their order, on the range of the random sets about their mean."""

import polars as pl
import pytest

from neurothek.dashboards.charts.effects import KINDS, worth_of_kinds
from tests.dashboards.charts.effects.test_effect_ranges import layers

ROWS = pl.DataFrame(
    [
        {
            "model": model,
            "size": size,
            "kind": kind,
            "n_neurons": 9,
            "effect": 0.4,
            "random_effect": 0.1,
            "random_effect_least": -0.2,
            "random_effect_most": 0.15,
            "worth": 0.3,
            "percentile": 99.0,
            "n_sets": 20,
        }
        for model, size in (("z-small", 10), ("a-large", 20))
        for kind in ("positional", "dead")
    ]
)


COLOURS = {"other": "#000000", "a-large": "#440154", "z-small": "#52be6a"}


def test_kinds_have_the_models_beside_each_other_in_the_order_and_the_colours_of_their_sizes() -> None:
    (_, _), (span, drawn), (dot, _) = layers(worth_of_kinds(ROWS, COLOURS))
    assert dot["encoding"]["x"]["sort"] == ["dead", "positional"]
    scale = dot["encoding"]["color"]["scale"]
    assert dot["encoding"]["xOffset"]["sort"] == scale["domain"] == ["z-small", "a-large"]
    assert scale["range"] == ["#52be6a", "#440154"]
    assert dot["encoding"]["y"]["field"] == "worth"
    # Worth is the effect less the random mean, and so is the range.
    assert (span["encoding"]["y"]["field"], span["encoding"]["y2"]["field"]) == ("least", "most")
    assert [(one["least"], one["most"]) for one in drawn] == [(pytest.approx(-0.3), pytest.approx(0.05))] * 4
    told = {tip["field"] for tip in dot["encoding"]["tooltip"]}
    assert {"model", "kind", "worth", "effect", "random_effect", "percentile", "n_sets", "n_neurons"} <= told


def test_every_kind_that_the_command_turns_off_has_its_place() -> None:
    from neurothek.queries.ask.statements import statement  # noqa: PLC0415 (of this test alone)

    text = statement("neurons_of_kinds")
    assert set(KINDS) == {kind for kind in KINDS if f"'{kind}' as kind" in text}
    assert text.count(" as kind") == len(KINDS)
