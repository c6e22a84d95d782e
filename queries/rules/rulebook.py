"""All rules of a model together: from the tokens of a list to the patterns that they follow."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from neurothek.catalog.tables.annotations import LEAST_MARKED
from neurothek.queries.rules.affixes import Affixes
from neurothek.queries.rules.capitals import names
from neurothek.queries.rules.chance import FAMILIES, least_found
from neurothek.queries.rules.function_words import stop_words
from neurothek.queries.rules.neighbourhoods import Near, Neighbourhoods
from neurothek.queries.rules.pattern import Pattern, Property
from neurothek.queries.rules.symbols import numbers, punctuation
from neurothek.queries.rules.vocabulary import Vocabulary
from neurothek.queries.rules.word_forms import word_forms

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
    """What the rules know of a vocabulary, whatever the unembedding.

    Attributes:
        families: the properties of each closed family.
        closed: all of them, each with the number of its family.
        places: token -> which of `closed` it has.
        affixes: beginnings and endings.
        left_out: tokens that are in no neighbourhood.
    """

    families: Mapping[str, list[Property]]
    closed: Sequence[tuple[Property, int]]
    places: Mapping[int, list[int]]
    affixes: Affixes
    left_out: frozenset[int]


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
        shown = [token_id for token_id in token_ids if token_id in self.vocabulary.texts]
        candidates = chain(
            self._of_closed_families(shown), self.affixes.patterns(shown), self.neighbourhoods.patterns(shown)
        )
        return list(_that_add(candidates))

    def _of_closed_families(self, shown: Sequence[int]) -> Iterator[Pattern]:
        n_tokens = len(self.vocabulary.texts)
        having: dict[int, list[int]] = defaultdict(list)
        for token_id in shown:
            for place in self._rules.places.get(token_id, ()):
                having[place].append(token_id)
        for place, found in sorted(having.items()):
            one, n_properties = self._rules.closed[place]
            if len(found) >= least_found(len(shown), len(one.token_ids), n_tokens, n_properties=n_properties):
                yield Pattern(one.concept, one.concept_class, tuple(found))


def _that_add(patterns: Iterable[Pattern]) -> Iterator[Pattern]:
    named: set[int] = set()
    for pattern in patterns:
        if len(set(pattern.token_ids) - named) >= LEAST_MARKED:
            named |= set(pattern.token_ids)
            yield pattern
