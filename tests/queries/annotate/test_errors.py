"""Why an annotation cannot be saved: place and field first, what was sent cut to a line, and what to do."""

from pathlib import Path

import pytest

from neurothek.queries.annotate.errors import (
    AnnotationInvalid,
    ConceptAndNone,
    ControlsMissing,
    FieldInvalid,
    FieldMissing,
    FieldTooMuch,
    FieldUnknown,
    GlossesUnreadable,
    JudgedTwice,
    KindsMixed,
    LineUnreadable,
    ListMissing,
    ListsNotMeasured,
    ListUnknown,
    NamedTwice,
    NothingToSave,
    NotShown,
    TooFewMarked,
    VectorUnknown,
)
from tests.support.sentences import commands, sentence

EVERY: list[tuple[AnnotationInvalid, str]] = [
    (FieldUnknown("line 2", "concpet", ["concept", "class"]), "concpet"),
    (FieldInvalid("line 2", "layer", -1, "a number"), "layer"),
    (FieldMissing("line 2", "model", "its name"), "model"),
    (FieldTooMuch("line 2", "ranks", "token_ids"), "ranks"),
    (VectorUnknown("line 2", "0-000000000000", "m"), "vector"),
    (ListMissing("line 2", "m", "neuron 0 of layer 9"), "vector"),
    (ListUnknown("line 2", "0-000000000000", "m"), "item"),
    (JudgedTwice("line 2", "line 1"), "item"),
    (KindsMixed("line 2"), "item"),
    (NotShown("line 2", "ranks", 31, 30), "ranks"),
    (TooFewMarked("line 2", "ranks", 3), "ranks"),
    (NamedTwice("line 2", "schools", "line 1"), "concept"),
    (ConceptAndNone("line 2", "line 1"), "concept"),
]


@pytest.mark.parametrize(("error", "field"), EVERY, ids=lambda one: type(one).__name__)
def test_each_begins_with_its_place_and_its_field(error: AnnotationInvalid, field: str) -> None:
    assert sentence(error).startswith(f"line 2, {field}: ")


@pytest.mark.parametrize("value", ["x" * 10_000, list(range(10_000)), {"a": "b" * 10_000}])
def test_what_was_sent_is_cut(value: object) -> None:
    assert len(sentence(FieldInvalid("line 1", "concept", value, "a text"))) < 200
    assert len(sentence(FieldUnknown("line 1", str(value), ["concept"]))) < 500


def test_what_was_sent_cannot_move_the_cursor() -> None:
    said = sentence(FieldUnknown("line 1", "a\x1b[2J\nb", ["concept"]))
    assert "\\x1b[2J↵b" in said
    assert "'a\\nb'" in sentence(FieldInvalid("line 1", "concept", "a\nb", "one line"))


@pytest.mark.parametrize(("n", "said"), [(0, "0 tokens are"), (1, "one token is"), (3, "3 tokens are")])
def test_marked_tokens_agree_with_their_number(n: int, said: str) -> None:
    assert said in sentence(TooFewMarked("line 1", "ranks", n))


def test_that_there_is_none_can_be_said_twice_as_well() -> None:
    named, none = (sentence(NamedTwice("line 2", concept, "line 1")) for concept in ("schools", None))
    assert "'schools'" in named
    assert "None" not in none
    assert "line 1" in named
    assert "line 1" in none


def test_a_file_of_glosses_is_named_with_what_is_wrong() -> None:
    said = sentence(GlossesUnreadable(Path("words\n.tsv"), "it is empty"))
    assert said.startswith("words\u21b5.tsv has no glosses to show: it is empty; ")


def test_what_can_be_done_is_a_command() -> None:
    assert commands(NothingToSave()) == [["annotate", "--sample", "MODEL", "--format", "csv"]]
    measure = ["ingest", "my model", "--job", "projections", "--job", "controls"]
    assert commands(ControlsMissing("my model")) == [measure]
    assert commands(ListsNotMeasured("my model")) == [["ingest", "my model", "--job", "shortcuts"]]
    assert commands(ListUnknown("line 1", "0-0", "my model")) == [["annotate", "--plausibility", "my model"]]
    assert commands(ListMissing("line 1", "my model", "neuron 0")) == [measure]
    assert commands(VectorUnknown("line 1", "0-0", "my model")) == [["annotate", "--sample", "my model"]]
    assert sentence(LineUnreadable("line 3", "is not JSON")).startswith("line 3 is not JSON; ")
