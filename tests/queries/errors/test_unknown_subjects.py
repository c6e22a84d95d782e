"""What is not there is told with the nearest that is, and with a command that a shell takes as it stands."""

from collections.abc import Callable

import pytest

from neurothek.catalog.errors import NeurothekError
from neurothek.queries.errors.unknown_subjects import (
    BadAddress,
    MatrixNotKept,
    NoModels,
    NoShortcuts,
    StateUnknown,
    UnknownColumn,
    UnknownCorpus,
    UnknownDialect,
    UnknownModel,
    UnknownNeuron,
    UnknownRelation,
    UnknownView,
)
from tests.support.sentences import commands, sentence

NAMED = (UnknownModel, UnknownCorpus, UnknownView, UnknownDialect, UnknownRelation)


@pytest.mark.parametrize("kind", NAMED)
def test_the_nearest_names_are_told_else_all_else_that_there_are_none(kind: Callable[..., NeurothekError]) -> None:
    near = sentence(kind("modles", ["runs", "models"]))
    assert "modles" in near
    assert "nearest: models" in near
    assert "runs" not in near
    assert "there are: runs, weights" in sentence(kind("zzz", ["runs", "weights"]))
    assert "there are none" in sentence(kind("zzz", []))


@pytest.mark.parametrize("kind", [UnknownModel, UnknownCorpus])
@pytest.mark.parametrize("name", ["", " opt", "opt "])
def test_white_space_in_a_name_is_seen(kind: Callable[..., NeurothekError], name: str) -> None:
    assert repr(name) in sentence(kind(name, ["opt"]))


def test_a_column_is_told_among_the_likeliest_then_among_all() -> None:
    everywhere = ["frequency", "family", "layer"]
    assert "nearest: frequency_low" in sentence(UnknownColumn.among("frequenzy", ["frequency_low"], everywhere))
    assert "nearest: frequency" in sentence(UnknownColumn.among("frequenzy", [], everywhere))
    # What stands there may be far, and is told before what is near elsewhere.
    assert "nearest: zebra" in sentence(UnknownColumn.among("frequenzy", ["zebra"], everywhere))
    assert commands(UnknownColumn.among("zzz", [], everywhere)) == [["schema", "VIEW"]]
    # A name that is there elsewhere is not its own nearest.
    assert sentence(UnknownColumn.among("layer", [], ["LAYER", "layers"])).endswith("nearest: layers")


def test_a_column_of_a_relation_says_of_which() -> None:
    said = sentence(UnknownColumn("n.frequenzy", ["frequency"], relation="neurons"))
    assert "n.frequenzy in neurons" in said
    assert "nearest: frequency" in said
    assert sentence(UnknownColumn("x", [], instead="try y")).endswith("; try y")


def test_shortcuts_that_were_made_elsewhere_are_named() -> None:
    nowhere = NoShortcuts("my model", None, [])
    assert commands(nowhere) == [["ingest", "my model", "--job", "shortcuts"]]
    elsewhere = NoShortcuts("m", "long", ["builtin", "wiki"], ["--corpus", "a b"])
    assert "builtin, wiki" in sentence(elsewhere)
    assert "long" in sentence(elsewhere)
    assert commands(elsewhere) == [["ingest", "m", "--job", "shortcuts", "--corpus", "a b"]]
    # Nothing was made on any text: which one was asked for says nothing.
    assert "long" not in sentence(NoShortcuts("m", "long", []))


def test_states_and_layers_are_told_from_nought() -> None:
    assert "0 to 3" in sentence(StateUnknown("m", 4, 5, 3))
    assert "layers 0 to 1" in sentence(UnknownNeuron("m/L9N0", 2, 5))
    assert "neurons 0 to 4" in sentence(UnknownNeuron("m/L9N0", 2, 5))
    (again,) = commands(MatrixNotKept("m", 0, 2, "neurothek ingest 'a b'"))
    assert again == ["ingest", "a b", "--keep", "all", "--force"]


def test_what_a_person_typed_is_quoted() -> None:
    assert repr("a\nb") in sentence(BadAddress("a\nb"))
    assert commands(NoModels()) == [["ingest", "MODEL"]]
