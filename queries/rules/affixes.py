"""Tokens that begin or end alike: every beginning and ending of three letters or more that a vocabulary has."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from neurothek.catalog.tables.annotations import LEAST_MARKED
from neurothek.queries.rules.chance import least_found, tail
from neurothek.queries.rules.pattern import Pattern
from neurothek.queries.rules.vocabulary import Vocabulary

FEWEST_LETTERS = 3
"""Of an affix."""

Affix = tuple[bool, str]
"""Whether it is a beginning, and its letters."""


class Affixes:
    """The beginnings and endings of a vocabulary's tokens, and how many tokens have each.

    Only a token that starts a word has a beginning: the letters at the front of other pieces are the middle of a word.
    Every token of letters has endings.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @cached_property
    def counts(self) -> Mapping[Affix, int]:
        """How many tokens have an affix, for the affixes of at least four: those that can make a pattern."""
        counted = Counter(affix for token_id in self.vocabulary.letters for affix in self.of(token_id))
        return {affix: n for affix, n in counted.items() if n >= LEAST_MARKED}

    def of(self, token_id: int) -> Iterator[Affix]:
        """The affixes of a token."""
        letters = self.vocabulary.letters.get(token_id, "").lower()
        for length in range(FEWEST_LETTERS, len(letters) + 1):
            yield False, letters[-length:]
            if token_id in self.vocabulary.first_parts:
                yield True, letters[:length]

    @cached_property
    def _known(self) -> Mapping[int, tuple[Affix, ...]]:
        """Those of `counts` that each token has, one object an affix: thousands of lists hold the same tokens."""
        same = {affix: affix for affix in self.counts}
        return {
            token_id: tuple(same[affix] for affix in self.of(token_id) if affix in same)
            for token_id in self.vocabulary.letters
        }

    def patterns(self, token_ids: Sequence[int]) -> list[Pattern]:
        """The affixes that the tokens of a list share by more than chance, the rarest by chance first."""
        known = [self._known.get(token_id, ()) for token_id in token_ids]
        shared = [(affix, n) for affix, n in Counter(chain.from_iterable(known)).items() if n >= LEAST_MARKED]
        n_shown, n_tokens = len(token_ids), len(self.vocabulary.texts)
        found = [
            (tail(n, n_shown, self.counts[affix], n_tokens), -len(affix[1]), affix)
            for affix, n in shared
            if n >= least_found(n_shown, self.counts[affix], n_tokens, n_properties=len(self.counts))
        ]
        return [
            _named(affix, [token_id for token_id, its in zip(token_ids, known, strict=True) if affix in its])
            for _, _, affix in sorted(found)
        ]


def _named(affix: Affix, token_ids: Sequence[int]) -> Pattern:
    is_beginning, letters = affix
    concept = f"words that begin with {letters}-" if is_beginning else f"words and pieces that end in -{letters}"
    return Pattern(concept, "syntactic", tuple(token_ids))
