"""What is not there is told with the nearest that is, and with a command that a shell takes as it stands."""

from collections.abc import Callable
from functools import partial

import pytest

from neurothek.catalog.problems import NotFound
from neurothek.queries.errors.unknown_subjects import (
    invalid_address,
    no_models,
    no_shortcuts,
    unknown_column,
    unknown_column_among,
    unknown_corpus,
    unknown_neuron,
    unknown_relation,
)
from tests.support.sentences import commands, sentence

Unknown = Callable[[str, list[str]], NotFound]
NAMED: tuple[Unknown, ...] = (unknown_corpus, unknown_relation, partial(NotFound.among, "model"))


@pytest.mark.parametrize("kind", NAMED)
def test_the_nearest_names_are_told_else_all_else_that_there_are_none(kind: Unknown) -> None:
    near = sentence(kind("modles", ["runs", "models"]))
    assert "modles" in near
    assert "nearest: models" in near
    assert "runs" not in near
    assert "there are: runs, weights" in sentence(kind("zzz", ["runs", "weights"]))
    assert "there are none" in sentence(kind("zzz", []))


@pytest.mark.parametrize("kind", [unknown_corpus, partial(NotFound.among, "model")])
@pytest.mark.parametrize("name", ["", " opt", "opt "])
def test_white_space_in_a_name_is_seen(kind: Unknown, name: str) -> None:
    assert repr(name) in sentence(kind(name, ["opt"]))


def test_a_column_is_told_among_the_likeliest_then_among_all() -> None:
    everywhere = ["frequency", "family", "layer"]
    assert "nearest: frequency_low" in sentence(unknown_column_among("frequenzy", ["frequency_low"], everywhere))
    assert "nearest: frequency" in sentence(unknown_column_among("frequenzy", [], everywhere))
    # What stands there may be far, and is told before what is near elsewhere.
    assert "nearest: zebra" in sentence(unknown_column_among("frequenzy", ["zebra"], everywhere))
    assert commands(unknown_column_among("zzz", [], everywhere)) == [["schema", "VIEW"]]
    # A name that is there elsewhere is not its own nearest.
    assert sentence(unknown_column_among("layer", [], ["LAYER", "layers"])).endswith("nearest: layers")


def test_a_column_of_a_relation_says_of_which() -> None:
    said = sentence(unknown_column("n.frequenzy", ["frequency"], relation="neurons"))
    assert "n.frequenzy in neurons" in said
    assert "nearest: frequency" in said
    assert sentence(unknown_column("x", [], instead="try y")).endswith("; try y")


def test_shortcuts_that_were_made_elsewhere_are_named() -> None:
    nowhere = no_shortcuts("my model", None, [])
    assert commands(nowhere) == [["ingest", "my model", "--job", "shortcuts"]]
    elsewhere = no_shortcuts("m", "long", ["builtin", "wiki"], ["--corpus", "a b"])
    assert "builtin, wiki" in sentence(elsewhere)
    assert "long" in sentence(elsewhere)
    assert commands(elsewhere) == [["ingest", "m", "--job", "shortcuts", "--corpus", "a b"]]
    # Nothing was made on any text: which one was asked for says nothing.
    assert "long" not in sentence(no_shortcuts("m", "long", []))


def test_layers_are_told_from_nought() -> None:
    assert "layers 0 to 1" in sentence(unknown_neuron("m/L9N0", 2, 5))
    assert "neurons 0 to 4" in sentence(unknown_neuron("m/L9N0", 2, 5))


def test_what_a_person_typed_is_quoted() -> None:
    assert repr("a\nb") in sentence(invalid_address("a\nb"))
    assert commands(no_models()) == [["ingest", "MODEL"]]
