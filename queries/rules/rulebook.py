"""All rules of a model together: from the tokens of a list to the patterns that they follow."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import duckdb

from neurothek.catalog.tables.annotations import LEAST_MARKED
from neurothek.queries.names.models import KnownModel
from neurothek.queries.rules.affixes import Affixes
from neurothek.queries.rules.capitals import names
from neurothek.queries.rules.chance import FAMILIES, least_found
from neurothek.queries.rules.function_words import stop_words
from neurothek.queries.rules.neighbourhoods import Near, Neighbourhoods, read_near
from neurothek.queries.rules.pattern import Pattern, Property
from neurothek.queries.rules.symbols import numbers, punctuation
from neurothek.queries.rules.vocabulary import Vocabulary, read_vocabulary
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


class Rulebook:
    """The rules for one vocabulary and unembedding.

    Args:
        vocabulary: the tokens.
        near: the nearest tokens of each.
    """

    def __init__(self, vocabulary: Vocabulary, near: Near) -> None:
        self.vocabulary = vocabulary
        self.families = {name: properties(vocabulary) for name, properties in _CLOSED.items()}
        self._closed = [(one, len(properties)) for properties in self.families.values() for one in properties]
        self._places: dict[int, list[int]] = defaultdict(list)
        for place, (one, _) in enumerate(self._closed):
            for token_id in one.token_ids:
                self._places[token_id].append(place)
        self.affixes = Affixes(vocabulary)
        said = ("stop words", "numbers")
        left_out = frozenset().union(*(one.token_ids for name in said for one in self.families[name]))
        self.neighbourhoods = Neighbourhoods(vocabulary, near, left_out)

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
            for place in self._places.get(token_id, ()):
                having[place].append(token_id)
        for place, found in sorted(having.items()):
            one, n_properties = self._closed[place]
            if len(found) >= least_found(len(shown), len(one.token_ids), n_tokens, n_properties=n_properties):
                yield Pattern(one.concept, one.concept_class, tuple(found))


def read_rulebook(connection: duckdb.DuckDBPyConnection, model: KnownModel) -> Rulebook:
    """The rules for a model of the warehouse."""
    return Rulebook(read_vocabulary(connection, model.tokenizer_id), read_near(connection, model.model_id))


def _that_add(patterns: Iterable[Pattern]) -> Iterator[Pattern]:
    named: set[int] = set()
    for pattern in patterns:
        if len(set(pattern.token_ids) - named) >= LEAST_MARKED:
            named |= set(pattern.token_ids)
            yield pattern
