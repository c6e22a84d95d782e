"""The line of words on the search page: quoted words keep their blanks, and any line is words."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.dashboards.parts.search_fields import _FOLDED, SearchRequest, words_of
from neurothek.queries.search.question import NEURON_FLAGS, Question


def test_a_line_is_its_words(subtests: pytest.Subtests) -> None:
    for typed, words in [
        ("", ()),
        ("  ", ()),
        ("school", ("school",)),
        ("school  university", ("school", "university")),
        ('"of the" a', ("of the", "a")),
        ("he,him,his she", ("he,him,his", "she")),
        ("'' a", ("a",)),
        ("it's", ("it's",)),
        ('a "b', ("a", '"b')),
        ("a # b", ("a", "#", "b")),
        ("<b>é😀</b>", ("<b>é😀</b>",)),
    ]:
        with subtests.test(typed=typed, words=words):
            assert words_of(typed) == words


@given(words=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), max_size=4))
def test_words_that_the_page_wrote_itself_come_back(words: list[str]) -> None:
    """What is taken out of a concept stands in the address, as a shell would write it."""
    assert words_of(shlex.join(words)) == tuple(words)


@given(typed=st.text(max_size=20))
def test_any_line_is_words(typed: str) -> None:
    assert all(words_of(typed))


def test_conditions_alone_ask_nothing(subtests: pytest.Subtests) -> None:
    for question, like, is_empty in [
        (Question(words=()), None, True),
        (Question(words=("a",)), None, False),
        (Question(words=(), triggered_by=("a",)), None, False),
        (Question(words=()), "m/L0N0", False),
        (Question(words=(), limit=5, alive=True), None, True),
    ]:
        with subtests.test(question=question, like=like, is_empty=is_empty):
            assert SearchRequest(question, like, by_score=False, side_by_side=False).is_empty == is_empty


def test_every_folded_field_is_folded_once() -> None:
    assert len({*_FOLDED}) == len(_FOLDED)
    assert {*NEURON_FLAGS} <= {*_FOLDED}
