"""Conditions that make no sense: told with what was typed, and with what can be."""

from collections.abc import Callable

import pytest

from neurothek.catalog.problems import Invalid
from neurothek.queries.errors.unfit_options import (
    concept_needed,
    conditions_beside,
    invalid_condition,
    invalid_depths,
    invalid_layers,
    no_layers_left,
    no_such_layer,
    not_measured,
    other_tokenizers,
    too_long_phrase,
)
from tests.support.sentences import commands, sentence


@pytest.mark.parametrize("kind", [invalid_depths, invalid_layers])
@pytest.mark.parametrize("text", ["", "5-3", "a\nb", "'"])
def test_what_was_typed_is_quoted(kind: Callable[[str], Invalid], text: str) -> None:
    assert sentence(kind(text)).startswith(repr(text))


def test_a_long_phrase_is_shown_in_its_tokens() -> None:
    said = sentence(too_long_phrase("the old man", [" the", " old", "\n", " man"], 3))
    assert "4 tokens (·the ·old ↵ ·man)" in said
    assert "3" in said


def test_many_models_are_cut_and_counted() -> None:
    error = other_tokenizers("opt", [f"m{number}" for number in range(15)])
    assert "and 3 more and opt" in sentence(error)
    assert commands(error) == [["models", "--format", "json"]]


def test_conditions_agree_with_their_number() -> None:
    one, two = sentence(concept_needed(["neighbours"])), sentence(concept_needed(["neighbours", "left_out"]))
    assert one.startswith("neighbours requires ")
    assert two.startswith("neighbours and left_out require ")


def test_what_is_left_out_and_what_is_kept_are_both_named() -> None:
    said = sentence(conditions_beside(["--depth", "--alive"], "exact scores", ["--model", "--layers"]))
    assert "--depth, --alive" in said
    assert "--model, --layers" in said
    assert "exact scores" in said


def test_ranges_are_told() -> None:
    assert "layer 7" in sentence(no_such_layer(7, 5))
    assert "0 to 5" in sentence(no_such_layer(7, 5))
    assert sentence(no_layers_left())


def test_a_condition_is_quoted_with_its_problem() -> None:
    said = sentence(invalid_condition("layer >\n3", "cannot be read"))
    assert f"{'layer >' + chr(10) + '3'!r} cannot be read" in said


def test_what_was_not_measured_can_be() -> None:
    assert commands(not_measured("n-grams were counted", "ngrams")) == [["ingest", "MODEL", "--job", "ngrams"]]
