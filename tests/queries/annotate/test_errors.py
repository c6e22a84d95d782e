"""Why an annotation cannot be saved: place and field first, what was sent cut to a line, and what to do."""

from pathlib import Path

import pytest

from neurothek.catalog.problems import Invalid
from neurothek.queries.annotate.errors import (
    concept_and_none,
    fields_exclude,
    invalid_field,
    judged_twice,
    kinds_mixed,
    missing_field,
    named_twice,
    no_annotations,
    no_controls,
    no_lists,
    not_shown,
    tokens_not_kept,
    too_few_marked,
    unknown_field,
    unknown_list,
    unknown_vector,
    unreadable_glosses,
    unreadable_line,
)
from tests.support.sentences import commands, sentence

EVERY: list[tuple[Invalid, str]] = [
    (unknown_field("line 2", "concpet", ["concept", "class"]), "concpet"),
    (invalid_field("line 2", "layer", -1, "a number"), "layer"),
    (missing_field("line 2", "model", "its name"), "model"),
    (fields_exclude("line 2", "ranks", "token_ids"), "ranks"),
    (unknown_vector("line 2", "0-000000000000", "m"), "vector"),
    (tokens_not_kept("line 2", "m", "neuron 0 of layer 9"), "vector"),
    (unknown_list("line 2", "0-000000000000", "m"), "item"),
    (judged_twice("line 2", "line 1"), "item"),
    (kinds_mixed("line 2"), "item"),
    (not_shown("line 2", "ranks", 31, 30), "ranks"),
    (too_few_marked("line 2", "ranks", 3), "ranks"),
    (named_twice("line 2", "schools", "line 1"), "concept"),
    (concept_and_none("line 2", "line 1"), "concept"),
]


def test_each_begins_with_its_place_and_its_field(subtests: pytest.Subtests) -> None:
    for error, field in EVERY:
        with subtests.test(error=error, field=field):
            assert sentence(error).startswith(f"line 2, {field}: ")


@pytest.mark.parametrize("value", ["x" * 10_000, list(range(10_000)), {"a": "b" * 10_000}])
def test_what_was_sent_is_cut(value: object) -> None:
    assert len(sentence(invalid_field("line 1", "concept", value, "a text"))) < 200
    assert len(sentence(unknown_field("line 1", str(value), ["concept"]))) < 500


def test_what_was_sent_cannot_move_the_cursor() -> None:
    said = sentence(unknown_field("line 1", "a\x1b[2J\nb", ["concept"]))
    assert "\\x1b[2J↵b" in said
    assert "'a\\nb'" in sentence(invalid_field("line 1", "concept", "a\nb", "one line"))


@pytest.mark.parametrize(("n", "said"), [(0, "0 tokens are"), (1, "one token is"), (3, "3 tokens are")])
def test_marked_tokens_agree_with_their_number(n: int, said: str) -> None:
    assert said in sentence(too_few_marked("line 1", "ranks", n))


def test_that_there_is_none_can_be_said_twice_as_well() -> None:
    named, none = (sentence(named_twice("line 2", concept, "line 1")) for concept in ("schools", None))
    assert "'schools'" in named
    assert "None" not in none
    assert "line 1" in named
    assert "line 1" in none


def test_a_file_of_glosses_is_named_with_what_is_wrong() -> None:
    said = sentence(unreadable_glosses(Path("words\n.tsv"), "it is empty"))
    assert said.startswith("words\u21b5.tsv cannot be read as glosses: it is empty; ")


def test_what_can_be_done_is_a_command() -> None:
    assert commands(no_annotations()) == [["annotate", "--sample", "MODEL", "--format", "csv"]]
    measure = ["ingest", "my model", "--job", "projections", "--job", "controls"]
    assert commands(no_controls("my model")) == [measure]
    assert commands(no_lists("my model")) == [["ingest", "my model", "--job", "shortcuts"]]
    assert commands(unknown_list("line 1", "0-0", "my model")) == [["annotate", "--plausibility", "my model"]]
    assert commands(tokens_not_kept("line 1", "my model", "neuron 0")) == [measure]
    assert commands(unknown_vector("line 1", "0-0", "my model")) == [["annotate", "--sample", "my model"]]
    assert sentence(unreadable_line("line 3", "is not JSON")).startswith("line 3 is not JSON; ")
