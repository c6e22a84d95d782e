"""Words that cannot be searched for: quoted as they were typed, with the nearest that can."""

import pytest

from neurothek.queries.errors.unknown_words import (
    BlankWord,
    NoSuchToken,
    NoSuchWord,
    NothingAsked,
    OneWordOnly,
    SplitNotFound,
)
from tests.support.sentences import commands, sentence


@pytest.mark.parametrize("word", ["schol", "a b", "\x1b[2J", "\u2028", "é😀"])
def test_a_word_is_quoted_and_near_ones_are_told(word: str) -> None:
    said = sentence(NoSuchWord(word, ["school", "a\nb"]))
    assert repr(word) in said
    assert "school, a↵b" in said
    assert sentence(NoSuchWord(word, [])) != said


def test_pieces_of_a_word_are_shown_with_their_white_space() -> None:
    said = sentence(SplitNotFound("schools", [" sch", "ool", "\n"], ["school"]))
    assert "·sch ool ↵" in said
    assert "school" in said


def test_tokens_that_read_alike_are_told_once_and_as_they_are() -> None:
    error = NoSuchToken("school", [" school", "School", " school"])
    said = sentence(error)
    assert said.count(repr(" school")) == 1
    assert repr("School") in said
    assert (error.text, error.alike) == ("school", [" school", "School", " school"])
    assert sentence(NoSuchToken("school", [], "do that")).endswith("do that")


def test_a_search_needs_words() -> None:
    assert commands(NothingAsked())[0][0] == "search"
    assert repr(" \t") in sentence(BlankWord(" \t"))
    assert "'a b'" in sentence(OneWordOnly(["a", "b"]))
