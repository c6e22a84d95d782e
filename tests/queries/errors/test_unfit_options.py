"""Conditions that make no sense: told with what was typed, and with what can be."""

import pytest

from neurothek.queries.errors.unfit_options import (
    BadDepth,
    BadLayers,
    BadPredicate,
    NoConcept,
    NoLayersLeft,
    NoSuchLayer,
    NotAskedHere,
    NotMeasured,
    OtherTokenizer,
    PhraseTooLong,
)
from tests.support.sentences import commands, sentence


@pytest.mark.parametrize("kind", [BadLayers, BadDepth])
@pytest.mark.parametrize("text", ["", "5-3", "a\nb", "'"])
def test_what_was_typed_is_quoted(kind: type[BadLayers] | type[BadDepth], text: str) -> None:
    assert sentence(kind(text)).startswith(repr(text))


def test_a_long_phrase_is_shown_in_its_tokens() -> None:
    said = sentence(PhraseTooLong("the old man", [" the", " old", "\n", " man"], 3))
    assert "4 tokens (·the ·old ↵ ·man)" in said
    assert "3" in said


def test_many_models_are_cut_and_counted() -> None:
    error = OtherTokenizer("opt", [f"m{number}" for number in range(15)])
    assert "and 3 more and opt" in sentence(error)
    assert commands(error) == [["models", "--format", "json"]]


def test_conditions_agree_with_their_number() -> None:
    one, two = sentence(NoConcept(["neighbours"])), sentence(NoConcept(["neighbours", "left_out"]))
    assert one.startswith("neighbours requires ")
    assert two.startswith("neighbours and left_out require ")


def test_what_is_left_out_and_what_is_kept_are_both_named() -> None:
    said = sentence(NotAskedHere(["--depth", "--alive"], "exact scores", ["--model", "--layers"]))
    assert "--depth, --alive" in said
    assert "--model, --layers" in said
    assert "exact scores" in said


def test_ranges_are_told() -> None:
    assert "layer 7" in sentence(NoSuchLayer(7, 5))
    assert "0 to 5" in sentence(NoSuchLayer(7, 5))
    assert sentence(NoLayersLeft())


def test_a_condition_is_quoted_with_its_problem() -> None:
    said = sentence(BadPredicate("layer >\n3", "cannot be read"))
    assert f"{'layer >' + chr(10) + '3'!r} cannot be read" in said


def test_what_was_not_measured_can_be() -> None:
    assert commands(NotMeasured("n-grams were counted", "ngrams")) == [["ingest", "MODEL", "--job", "ngrams"]]
