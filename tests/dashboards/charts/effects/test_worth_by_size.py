"""What kinds are worth, models in their order, on the range of the random sets about their mean."""

import polars as pl
import pytest

from neurothek.dashboards.charts.effects import KIND_COLOURS, worth_of_kinds
from tests.dashboards.charts.effects.test_effect_ranges import layers
from tests.support.colours import contrast

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


def test_models_stand_in_the_order_of_their_sizes_and_kinds_beside_each_other() -> None:
    (_, _), (span, drawn), (dot, _) = layers(worth_of_kinds(ROWS))
    assert dot["encoding"]["x"]["sort"] == ["z-small", "a-large"]
    assert dot["encoding"]["xOffset"]["sort"] == dot["encoding"]["color"]["scale"]["domain"] == ["dead", "positional"]
    assert dot["encoding"]["y"]["field"] == "worth"
    # Worth is the effect less the random mean, and so is the range.
    assert (span["encoding"]["y"]["field"], span["encoding"]["y2"]["field"]) == ("least", "most")
    assert [(one["least"], one["most"]) for one in drawn] == [(pytest.approx(-0.3), pytest.approx(0.05))] * 4
    told = {tip["field"] for tip in dot["encoding"]["tooltip"]}
    assert {"model", "kind", "worth", "effect", "random_effect", "percentile", "n_sets", "n_neurons"} <= told


@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"])
@pytest.mark.parametrize("kind", KIND_COLOURS)
def test_colours_are_seen_on_white_and_on_black(kind: str, background: str) -> None:
    assert contrast(KIND_COLOURS[kind], background) > 2.2


def test_every_kind_that_the_command_turns_off_has_its_colour() -> None:
    from neurothek.queries.ask.statements import statement  # noqa: PLC0415 (of this test alone)

    text = statement("neurons_of_kinds")
    assert set(KIND_COLOURS) == {kind for kind in KIND_COLOURS if f"'{kind}' as kind" in text}
    assert text.count(" as kind") == len(KIND_COLOURS)
