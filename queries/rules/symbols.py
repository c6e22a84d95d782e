"""Tokens without letters, and numbers: punctuation, and numbers in digits or words."""

import re
import unicodedata

from neurothek.queries.rules.pattern import Property
from neurothek.queries.rules.vocabulary import PART_MARK, Vocabulary

NUMBER_WORDS = frozenset(
    word
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen",
        "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million",
        "billion first second third fourth fifth sixth seventh eighth ninth tenth",
    )
    for word in words.split()
)

_NUMBER = re.compile(r"[+\-\u2212]?\d[\d.,]*")


def punctuation(vocabulary: Vocabulary) -> list[Property]:
    """Tokens of punctuation marks, symbols and white space alone."""
    found = [token_id for token_id, text in vocabulary.texts.items() if text and all(map(_is_mark, text))]
    return [Property("punctuation, symbols and white space", "stopwords-punctuation", frozenset(found))]


def numbers(vocabulary: Vocabulary) -> list[Property]:
    """Numbers in digits, and in words that start a word."""
    found = [
        token_id
        for token_id, text in vocabulary.texts.items()
        if _NUMBER.fullmatch(text.strip().removeprefix(PART_MARK))
    ]
    found += [token_id for token_id, letters in vocabulary.first_parts.items() if letters.lower() in NUMBER_WORDS]
    return [Property("numbers", "semantic", frozenset(found))]


def _is_mark(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] in "PS"
