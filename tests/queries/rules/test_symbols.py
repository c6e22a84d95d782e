"""Punctuation and numbers: told from letters, whatever the alphabet and the bytes."""

from neurothek.queries.rules.chance import Vocabulary
from neurothek.queries.rules.rulebook import numbers, punctuation

TEXTS = (
    ".",
    " (",
    "\n\n",
    '."',
    "\u2014",
    "\u20ac",
    " 12",
    "12",
    "-3",
    "1,000.5",
    "##7",
    "0x1f",
    " seven",
    "seven",
    "a.",
)
VOCABULARY = Vocabulary(dict(enumerate((*TEXTS, "\\xe2\\x80", "", " third", "\u00b2"))))


def texts(ids: frozenset[int]) -> set[str]:
    return {VOCABULARY.texts[number] for number in ids}


def test_marks_symbols_and_white_space_are_punctuation() -> None:
    (found,) = punctuation(VOCABULARY)
    assert texts(found.token_ids) == {".", " (", "\n\n", '."', "\u2014", "\u20ac"}
    assert found.concept_class == "stopwords-punctuation"


def test_digits_and_number_words_are_numbers() -> None:
    (found,) = numbers(VOCABULARY)
    assert texts(found.token_ids) == {" 12", "12", "-3", "1,000.5", "##7", " seven", " third"}
    assert found.concept_class == "semantic"
