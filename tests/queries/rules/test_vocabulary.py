"""Tokens as words: which of them start one, where first parts are marked and where later ones are."""

import duckdb

from neurothek.queries.rules.chance import Vocabulary, read_vocabulary
from tests.support import tiny
from tests.support.english import mini_vocabulary

BY_SPACE = Vocabulary(
    dict(enumerate((" cat", "cat", " Cat", "ing", "##", "\n", " 12", " Stra\u00dfe", "ein ", " l'an")))
)
BY_MARK = Vocabulary(dict(enumerate(("cat", "##cat", "Cat", "##ing", "##s", "!", "12", "##2"))))


def test_a_space_starts_a_word() -> None:
    assert not BY_SPACE.marks_parts
    assert BY_SPACE.letters == {0: "cat", 1: "cat", 2: "Cat", 3: "ing", 7: "Stra\u00dfe", 8: "ein"}
    assert BY_SPACE.first_parts == {0: "cat", 2: "Cat", 7: "Stra\u00dfe"}
    assert BY_SPACE.words == {"cat"}


def test_a_mark_does_not() -> None:
    assert BY_MARK.marks_parts
    assert BY_MARK.letters == {0: "cat", 1: "cat", 2: "Cat", 3: "ing", 4: "s"}
    assert BY_MARK.first_parts == {0: "cat", 2: "Cat"}


def test_special_tokens_are_none(full: duckdb.DuckDBPyConnection) -> None:
    found = read_vocabulary(full, 0)
    expected = {number: text for number, text in enumerate(tiny.ENGLISH) if text not in tiny.SPECIAL}
    assert found.texts == expected
    assert {found.letters[number] for number in found.first_parts} >= {"school", "teach", "Caf\u00e9"}


def test_half_of_the_minis_tokens_start_a_word() -> None:
    vocabulary = mini_vocabulary()
    assert len(vocabulary.texts) == 8189
    assert 0.3 < len(vocabulary.first_parts) / len(vocabulary.texts) < 0.5
