"""Words that cannot be searched for: quoted as they were typed, with the nearest that can."""

import pytest

from neurothek.queries.errors.unknown_subjects import (
    blank_word,
    no_words,
    one_word_only,
    split_not_listed,
    unknown_token,
    unknown_word,
)
from tests.support.sentences import commands, sentence


def test_a_word_is_quoted_and_near_ones_are_told(subtests: pytest.Subtests) -> None:
    for word in ["schol", "a b", "\x1b[2J", "\u2028", "é😀"]:
        with subtests.test(word=word):
            said = sentence(unknown_word(word, ["school", "a\nb"]))
            assert repr(word) in said
            assert "school, a↵b" in said
            assert sentence(unknown_word(word, [])) != said


def test_pieces_of_a_word_are_shown_with_their_white_space() -> None:
    said = sentence(split_not_listed("schools", [" sch", "ool", "\n"], ["school"]))
    assert "·sch ool ↵" in said
    assert "school" in said


def test_tokens_that_read_alike_are_told_once_and_as_they_are() -> None:
    error = unknown_token("school", [" school", "School", " school"])
    said = sentence(error)
    assert said.count(repr(" school")) == 1
    assert repr("School") in said
    assert (error.name, error.known) == ("school", [" school", "School", " school"])
    assert sentence(unknown_token("school", [], "do that")).endswith("do that")


def test_a_search_needs_words() -> None:
    assert commands(no_words())[0][0] == "search"
    assert repr(" \t") in sentence(blank_word(" \t"))
    assert "'a b'" in sentence(one_word_only(["a", "b"]))
