"""All rules of a model together: from the tokens of a list to the patterns that they follow."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from neurothek.catalog.tables.annotations import LEAST_MARKED
from neurothek.queries.rules.chance import FAMILIES, PART_MARK, Pattern, Property, Vocabulary, least_found, tail
from neurothek.queries.rules.neighbourhoods import Near, Neighbourhoods
from neurothek.queries.rules.word_forms import stop_words, word_forms

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
    ids = [token_id for token_id, text in vocabulary.texts.items() if text and all(map(_is_mark, text))]
    return [Property("punctuation, symbols and white space", "stopwords-punctuation", frozenset(ids))]


def numbers(vocabulary: Vocabulary) -> list[Property]:
    """Numbers in digits, and in words that start a word."""
    ids = [
        token_id
        for token_id, text in vocabulary.texts.items()
        if _NUMBER.fullmatch(text.strip().removeprefix(PART_MARK))
    ]
    ids += [token_id for token_id, letters in vocabulary.first_parts.items() if letters.lower() in NUMBER_WORDS]
    return [Property("numbers", "semantic", frozenset(ids))]


def _is_mark(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] in "PS"


_FEWEST_LETTERS = 3
"""Of a name: shorter ones are initials and syllables."""


def names(vocabulary: Vocabulary) -> list[Property]:
    """Two properties: capitalised words whose small form the vocabulary lacks, and words in capitals.

    Words that start a sentence have a small form among the tokens, as function words always do.
    """
    capitalised = [
        token_id
        for token_id, letters in vocabulary.first_parts.items()
        if len(letters) >= _FEWEST_LETTERS
        and letters[0].isupper()
        and letters[1:].islower()
        and letters.lower() not in vocabulary.words
    ]
    in_capitals = [
        token_id for token_id, letters in vocabulary.first_parts.items() if len(letters) > 1 and letters.isupper()
    ]
    return [
        Property("capitalised names", "names", frozenset(capitalised)),
        Property("words in capital letters", "names", frozenset(in_capitals)),
    ]


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
    def _affixes_of(self) -> Mapping[int, tuple[Affix, ...]]:
        """Those of `counts` that each token has, one object an affix: thousands of lists hold the same tokens."""
        same = {affix: affix for affix in self.counts}
        return {
            token_id: tuple(same[affix] for affix in self.of(token_id) if affix in same)
            for token_id in self.vocabulary.letters
        }

    def patterns(self, token_ids: Sequence[int]) -> list[Pattern]:
        """The affixes that the tokens of a list share by more than chance, the rarest by chance first."""
        affixes = [self._affixes_of.get(token_id, ()) for token_id in token_ids]
        shared = [(affix, n) for affix, n in Counter(chain.from_iterable(affixes)).items() if n >= LEAST_MARKED]
        n_shown, n_tokens = len(token_ids), len(self.vocabulary.texts)
        likelihoods = [
            (tail(n, n_shown, self.counts[affix], n_tokens), -len(affix[1]), affix)
            for affix, n in shared
            if n >= least_found(n_shown, self.counts[affix], n_tokens, n_properties=len(self.counts))
        ]
        return [
            _named(affix, [token_id for token_id, its in zip(token_ids, affixes, strict=True) if affix in its])
            for _, _, affix in sorted(likelihoods)
        ]


def _named(affix: Affix, token_ids: Sequence[int]) -> Pattern:
    is_beginning, letters = affix
    concept = f"words that begin with {letters}-" if is_beginning else f"words and pieces that end in -{letters}"
    return Pattern(concept, "syntactic", tuple(token_ids))


_CLOSED: Mapping[str, Callable[[Vocabulary], list[Property]]] = {
    "stop words": stop_words,
    "punctuation": punctuation,
    "numbers": numbers,
    "names": names,
    "word forms": word_forms,
}
"""The families whose properties are known before a list is seen."""

assert tuple(_CLOSED) == FAMILIES[:-2]


@dataclass(frozen=True)
class _Rules:
    """What the rules know of a vocabulary, whatever the unembedding."""

    families: Mapping[str, list[Property]]  # the properties of each closed family
    closed: Sequence[tuple[Property, int]]  # all of them, each with the number of its family
    places: Mapping[int, list[int]]  # token -> which of `closed` it has
    affixes: Affixes  # beginnings and endings
    left_out: frozenset[int]  # tokens that are in no neighbourhood


@lru_cache(maxsize=4)
def _rules_of(vocabulary: Vocabulary) -> _Rules:
    """They are made once for all models of a tokenizer."""
    families = {name: properties(vocabulary) for name, properties in _CLOSED.items()}
    closed = [(one, len(properties)) for properties in families.values() for one in properties]
    places: dict[int, list[int]] = defaultdict(list)
    for place, (one, _) in enumerate(closed):
        for token_id in one.token_ids:
            places[token_id].append(place)
    left_out = frozenset().union(*(one.token_ids for name in ("stop words", "numbers") for one in families[name]))
    return _Rules(families, closed, places, Affixes(vocabulary), left_out)


class Rulebook:
    """The rules for one vocabulary and unembedding.

    Args:
        vocabulary: the tokens.
        near: the nearest tokens of each.
    """

    def __init__(self, vocabulary: Vocabulary, near: Near) -> None:
        self.vocabulary = vocabulary
        self._rules = _rules_of(vocabulary)
        self.families = self._rules.families
        self.affixes = self._rules.affixes
        self.neighbourhoods = Neighbourhoods(vocabulary, near, self._rules.left_out)

    def judge(self, token_ids: Sequence[int]) -> list[Pattern]:
        """The patterns of a list of tokens, best first; none where it looks like random tokens.

        Families are asked in their order, and a pattern is left out unless at least 4 of its tokens are in no pattern
        before it: words in -ing are named once.
        """
        listed = [token_id for token_id in token_ids if token_id in self.vocabulary.texts]
        candidates = chain(
            self._of_closed_families(listed), self.affixes.patterns(listed), self.neighbourhoods.patterns(listed)
        )
        return list(_that_add(candidates))

    def _of_closed_families(self, listed: Sequence[int]) -> Iterator[Pattern]:
        n_tokens = len(self.vocabulary.texts)
        having: dict[int, list[int]] = defaultdict(list)
        for token_id in listed:
            for place in self._rules.places.get(token_id, ()):
                having[place].append(token_id)
        for place, members in sorted(having.items()):
            one, n_properties = self._rules.closed[place]
            if len(members) >= least_found(len(listed), len(one.token_ids), n_tokens, n_properties=n_properties):
                yield Pattern(one.concept, one.concept_class, tuple(members))


def _that_add(patterns: Iterable[Pattern]) -> Iterator[Pattern]:
    named: set[int] = set()
    for pattern in patterns:
        if len(set(pattern.token_ids) - named) >= LEAST_MARKED:
            named |= set(pattern.token_ids)
            yield pattern
