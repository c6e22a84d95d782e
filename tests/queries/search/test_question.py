"""A search put together wrongly, above all in Python: one sentence that names the field and shows how to write it."""

import dataclasses
import re
from typing import Any, get_type_hints

import pytest

from neurothek.catalog.problems import Invalid, NeurothekError
from neurothek.queries.errors.refused_sql import failed_query
from neurothek.queries.errors.unfit_options import no_such_layer
from neurothek.queries.errors.unknown_subjects import split_not_listed, unknown_token, unknown_word
from neurothek.queries.search.question import Conditions, Question, parse_layers, put_together


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"words": "school"},
            "words='school' is not valid; give a list or tuple, such as [\"one\"]",
        ),
        ({"models": "opt-125m"}, "models='opt-125m' is not valid; give a list or tuple"),
        ({"without": "tea"}, "without='tea' is not valid"),
        ({"models": 3}, "models=3 is not valid; give a list or tuple"),
        ({"models": ("a", 3)}, "models=('a', 3) is not valid; give a list or tuple"),
        ({"words": ("caf\udce9",)}, r"words=('caf\udce9',) is not valid"),
        ({"where": "address = '\udcff'"}, "is not valid; give UTF-8 text or None"),
        ({"limit": 0}, "limit=0 is not valid; give a whole number from 1 to 1000000000"),
        ({"limit": 2.5}, "limit=2.5"),
        ({"limit": 10**20}, f"limit={10**20} is not valid"),
        ({"neighbours": 10**7}, "neighbours=10000000 is not valid; give a whole number from 0 to 1000000"),
        ({"layers": (0, 10**30)}, f"layers=(0, {10**30}) is not valid"),
        ({"limit": True}, "limit=True"),
        ({"min_count": -1}, "min_count=-1 is not valid; give a whole number from 0 to 1000000000000000000"),
        ({"side": "top"}, "side='top' is not valid; give 'promoted' or 'suppressed' or 'both'"),
        ({"side": ["promoted"]}, "side=['promoted'] is not valid"),
        ({"layers": 1}, "layers=1 is not valid; give a pair, such as (1, 1) or None"),
        ({"layers": "3-5"}, "layers='3-5' is not valid"),
        ({"layers": (5, 3)}, "layers=(5, 3) is not valid"),
        ({"layers": (-1, 3)}, "layers=(-1, 3) is not valid"),
        ({"layers": (1, 2, 3)}, "layers=(1, 2, 3) is not valid"),
        ({"match_all": "yes"}, "match_all='yes' is not valid; give True or False"),
        ({"where": 5}, "where=5 is not valid"),
    ],
)
def test_slips_are_named(asked: dict[str, Any], sentence: str) -> None:
    pattern = ".*".join(map(re.escape, sentence.split(".*")))
    with pytest.raises(Invalid, match=pattern) as caught:
        Question(**{"words": ("school",), **asked})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "begins"),
    [
        ({"left_out": ("tea",)}, "leave-out requires a concept search"),
        ({"neighbours": 0}, "neighbours requires"),
        ({"neighbours": 9, "left_out": ("tea",)}, "neighbours and leave-out require"),
    ],
)
def test_what_is_about_a_concept_needs_one(asked: dict[str, Any], begins: str) -> None:
    with pytest.raises(Invalid, match=f"^{begins}.*; add --concept"):
        Question(words=("coffee",), **asked)
    assert Question(words=("coffee",), concept=True, **asked).concept


def test_words_stand_on_one_line() -> None:
    words = ("a\x00b", "c\nd e")
    assert Question(words=words).display(words) == "a\\x00b or c↵d e"
    assert Question(words=words, exact=True).display(words) == "a\\x00b or c↵d·e"


def test_lists_become_tuples() -> None:
    question = Question(words=["tea"], models=["a", "b"], layers=(0, 0), without=[])  # type: ignore[arg-type]
    assert (question.words, question.models, question.without) == (("tea",), ("a", "b"), ())


def test_parse_layers() -> None:
    assert parse_layers("3") == (3, 3)
    assert parse_layers("3-5") == (3, 5)
    for text in ("", "x", "-1", "3-", "5-3", "1-2-3", "1.5"):
        with pytest.raises(Invalid, match=re.escape(repr(text))):
            parse_layers(text)


@pytest.mark.parametrize(
    "error",
    [
        no_such_layer(7, 2),
        failed_query("syntax error"),
        unknown_word("x", ["y"]),
        unknown_word("x", []),
        split_not_listed("xy", ["x", "y"], ["xz"]),
        split_not_listed("xy", ["x", "y"], []),
        unknown_token("x", []),
    ],
    ids=str,
)
def test_every_sentence_says_what_to_do(error: Exception) -> None:
    assert any(
        f" {verb} " in str(error)
        for verb in ("choose", "fix", "give", "omit", "run", "try", "use", "widen", "write", "add", "leave")
    )


@pytest.mark.parametrize(
    ("conditions", "asked"),
    [
        ({}, {}),
        ({"model": "a"}, {"models": ("a",)}),
        ({"model": ["a", "b"]}, {"models": ("a", "b")}),
        ({"models": "a"}, {"models": ("a",)}),
        ({"layer": 3}, {"layers": (3, 3)}),
        ({"layer": "3"}, {"layers": (3, 3)}),
        ({"layers": "3-5"}, {"layers": (3, 5)}),
        ({"layers": (3, 5)}, {"layers": (3, 5)}),
        ({"layer": None}, {}),
        ({"depth": "0.5-1"}, {"depth": (0.5, 1.0)}),
        ({"depth": (0, 1)}, {"depth": (0, 1)}),
        ({"all": True}, {"match_all": True}),
        ({"without": "tea", "suppresses": "milk"}, {"without": ("tea",), "suppresses": ("milk",)}),
        ({"concept": True, "leave_out": "tea"}, {"concept": True, "left_out": ("tea",)}),
        ({"triggered_by": ("a b", "c")}, {"triggered_by": ("a b", "c")}),
    ],
)
def test_a_call_says_it_in_the_words_of_the_command(conditions: dict[str, Any], asked: dict[str, Any]) -> None:
    assert put_together(["school"], **conditions) == Question(words=("school",), **asked)


@pytest.mark.parametrize(
    ("conditions", "sentence"),
    [
        ({"modle": "a"}, "search() has no argument modle; nearest: model"),
        ({"words": ("a",)}, "search() has no argument words"),
        ({"model": "a", "models": "b"}, "models='b' is not valid; models is given, too; give one of the two"),
        ({"layer": True}, "layers=True is not valid; give a pair"),
        ({"layer": "5-3"}, "'5-3' is not a range of layers"),
    ],
)
def test_a_call_that_cannot_be_meant_is_one_sentence(conditions: dict[str, Any], sentence: str) -> None:
    with pytest.raises(NeurothekError) as caught:
        put_together(["school"], **conditions)
    assert sentence in str(caught.value)


def test_type_checkers_know_every_condition() -> None:
    """Fields of a question, and what the command calls them."""
    known = {one.name for one in dataclasses.fields(Question)} - {"words"}
    assert set(get_type_hints(Conditions)) == known | {"model", "layer", "all", "leave_out", "script", "pattern"}
