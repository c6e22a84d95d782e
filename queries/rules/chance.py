"""Patterns of tokens, the vocabulary they are sought in, and how often random tokens follow one."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import comb, sqrt

import duckdb

from neurothek.catalog.tables.annotations import LEAST_MARKED, ConceptClass
from neurothek.queries.ask.statements import records

_VOCABULARY = """\
-- The tokens of a tokenizer, without the special ones.
select token_id, text
from store.tokens
where tokenizer_id = $tokenizer_id and not is_special
order by token_id
"""

_NORMAL_975 = 1.959963984540054

LEVEL = 0.05
"""Most random lists that are given any concept, as a share [ours]."""

FAMILIES = ("stop words", "punctuation", "numbers", "names", "word forms", "affixes", "neighbourhoods")
"""Each may find something in LEVEL / 7 of the random lists: Bonferroni's bound, so that together they keep to LEVEL."""


def wilson(k: int, n: int) -> tuple[float, float, float]:
    """A share with the ends of its 95% interval [Wilson 1927]; written out, as SciPy takes a second to load."""
    share, z2 = k / n, _NORMAL_975**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _NORMAL_975 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return share, middle - half if k else 0.0, middle + half if k < n else 1.0


@cache
def tail(n_found: int, n_shown: int, n_members: int, n_tokens: int) -> float:
    """Probability that random tokens hold so many members of a property or more: the hypergeometric tail.

    Args:
        n_found: members among the tokens shown.
        n_shown: tokens shown, drawn from the vocabulary without replacement.
        n_members: tokens of the vocabulary that have the property.
        n_tokens: tokens of the vocabulary.
    """
    most = min(n_shown, n_members)
    ways = sum(comb(n_members, n) * comb(n_tokens - n_members, n_shown - n) for n in range(n_found, most + 1))
    return ways / comb(n_tokens, n_shown)


@cache
def least_found(n_shown: int, n_members: int, n_tokens: int, *, n_properties: int) -> int:
    """The fewest members among the tokens shown that make a pattern; more than are shown where no number does.

    At least 4 ([G] 4), and so many that random tokens have them with a probability of at most the family's share of
    LEVEL, divided by the number of properties that the family tests.
    """
    allowed = LEVEL / len(FAMILIES) / n_properties
    return next(
        (n for n in range(LEAST_MARKED, n_shown + 1) if tail(n, n_shown, n_members, n_tokens) <= allowed), n_shown + 1
    )


@dataclass(frozen=True)
class Property:
    """Something that tokens have or lack whatever list they are in."""

    concept: str  # what it is, in plain English
    concept_class: ConceptClass  # its class ([G] 4)
    token_ids: frozenset[int]  # the tokens of the vocabulary that have it


@dataclass(frozen=True)
class Pattern:
    """A property that a list has more often than chance gives."""

    concept: str  # what it is, in plain English
    concept_class: ConceptClass  # its class ([G] 4)
    token_ids: tuple[int, ...]  # the tokens of the list that follow it, in the list's order


PART_MARK = "##"
"""How WordPiece marks the later parts of a word; other tokenizers mark the first part with a space."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of a tokenizer, without the special ones; equal to itself alone, which makes it a key."""

    texts: Mapping[int, str]  # their exact texts by id

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
        bare_texts = {token_id: self._bare(text) for token_id, text in self.texts.items()}
        return {token_id: bare for token_id, bare in bare_texts.items() if bare.isalpha()}

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
    rows = records(connection, _VOCABULARY, {"tokenizer_id": tokenizer_id})
    return Vocabulary({row["token_id"]: row["text"] for row in rows})
