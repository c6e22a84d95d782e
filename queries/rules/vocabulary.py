"""The tokens of a tokenizer as words: which of them start one, and which letters they are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import duckdb

from neurothek.queries.ask.statements import records, statement

PART_MARK = "##"
"""How WordPiece marks the later parts of a word; other tokenizers mark the first part with a space."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of a tokenizer, without the special ones; equal to itself alone, which makes it a key.

    Attributes:
        texts: their exact texts by id.
    """

    texts: Mapping[int, str]

    @cached_property
    def marks_parts(self) -> bool:
        """Whether later parts of words are marked, as in WordPiece, rather than first ones."""
        n_parts, n_starts = (
            sum(text.startswith(mark) and text.removeprefix(mark).isalpha() for text in self.texts.values())
            for mark in (PART_MARK, " ")
        )
        return n_parts > n_starts

    @cached_property
    def letters(self) -> Mapping[int, str]:
        """Texts without white space and marks, of the tokens that are nothing but letters."""
        found = {token_id: self._bare(text) for token_id, text in self.texts.items()}
        return {token_id: bare for token_id, bare in found.items() if bare.isalpha()}

    @cached_property
    def first_parts(self) -> Mapping[int, str]:
        """The letters of the tokens that start a word."""
        return {token_id: bare for token_id, bare in self.letters.items() if self._starts_a_word(self.texts[token_id])}

    @cached_property
    def words(self) -> frozenset[str]:
        """The first parts that are written in small letters."""
        return frozenset(bare for bare in self.first_parts.values() if bare.islower())

    def _bare(self, text: str) -> str:
        return text.removeprefix(PART_MARK) if self.marks_parts else text.strip()

    def _starts_a_word(self, text: str) -> bool:
        return not text.startswith(PART_MARK) if self.marks_parts else text[:1].isspace()


def read_vocabulary(connection: duckdb.DuckDBPyConnection, tokenizer_id: int) -> Vocabulary:
    """The vocabulary of a tokenizer of the warehouse."""
    rows = records(connection, statement("vocabulary"), {"tokenizer_id": tokenizer_id})
    return Vocabulary({row["token_id"]: row["text"] for row in rows})
