"""Words near each other in a model's own unembedding: groups of a list that random lists seldom hold."""

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import duckdb

from neurothek.catalog.tables.annotations import LEAST_MARKED
from neurothek.queries.ask.statements import records
from neurothek.queries.rules.chance import FAMILIES, LEVEL, Pattern, Vocabulary

_NEAR_TOKENS = """\
-- The tokens that are nearest to each token in a model's unembedding and have it among their own nearest.
select one.token_id, list(one.neighbour_id order by one.rank) as near
from store.token_neighbours as one
inner join store.token_neighbours as other
    on
        other.model_id = one.model_id
        and other.token_id = one.neighbour_id
        and other.neighbour_id = one.token_id
where one.model_id = $model_id
group by one.token_id
"""

N_RANDOM_LISTS = 2_000
"""Random lists of which the smallest size of a group is read [ours]."""

_FEWEST_LETTERS = 3
"""Of a word that may be in a group: shorter ones are syllables."""

Near = Mapping[int, Collection[int]]
"""The tokens that are nearest to each token, and to which it is nearest."""


class Neighbourhoods:
    """Groups of words that are linked by being among each other's nearest tokens.

    Two tokens are linked where each is among the 20 nearest of the other. The forms of a word, such as `cat` and `Cat`,
    are one word; stop words, numbers and pieces in the middle of words are in no group. What groups there are in random
    tokens is measured on random lists of the same vocabulary and unembedding.

    Args:
        vocabulary: the tokens.
        near: the tokens linked to each.
        left_out: tokens that are in no group.
    """

    def __init__(self, vocabulary: Vocabulary, near: Near, left_out: Collection[int] = ()) -> None:
        self._tokens, self._near = tuple(vocabulary.texts), near
        self._words = {
            token_id: letters.lower()
            for token_id, letters in vocabulary.first_parts.items()
            if len(letters) >= _FEWEST_LETTERS and token_id not in left_out
        }
        self._least: dict[int, int] = {}

    def patterns(self, token_ids: Sequence[int]) -> list[Pattern]:
        """The groups of a list that are at least as large as random lists seldom hold, largest first."""
        large = [group for group in self.groups(token_ids) if self._n_words(group) >= LEAST_MARKED]
        if not large:
            # Most lists of random vectors end here, and need not know what larger groups are chance's.
            return []
        large.sort(key=lambda group: (-self._n_words(group), token_ids.index(group[0])))
        least = self.least_size(len(token_ids))
        return [self._named(group) for group in large if self._n_words(group) >= least]

    def least_size(self, n_shown: int) -> int:
        """Words that make a group: at least 4, and so many that the family's share of LEVEL of random lists has one."""
        if n_shown not in self._least:
            largest = sorted(self._largest_of(tokens) for tokens in _random_lists(self._tokens, n_shown))
            allowed = int(LEVEL / len(FAMILIES) * N_RANDOM_LISTS)
            self._least[n_shown] = max(LEAST_MARKED, 1 + largest[-1 - allowed])
        return self._least[n_shown]

    def groups(self, token_ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The words of a list in groups of linked ones, each in the list's order, without the lone ones."""
        listed = [token_id for token_id in token_ids if token_id in self._words]
        of_word: dict[str, list[int]] = defaultdict(list)
        for token_id in listed:
            of_word[self._words[token_id]].append(token_id)
        left = set(listed)
        for first in listed:
            if first not in left:
                continue
            if len(of_word[self._words[first]]) == 1 and left.isdisjoint(self._near.get(first, ())):
                left.discard(first)
                continue
            group, frontier = {first}, [first]
            while frontier:
                one = frontier.pop()
                linked = left.intersection(self._near.get(one, ())).union(of_word[self._words[one]]) - group
                group |= linked
                frontier += linked
            left -= group
            if len(group) > 1:
                yield tuple(token_id for token_id in token_ids if token_id in group)

    def _is_linked(self, one: int, other: int) -> bool:
        return other in self._near.get(one, ()) or self._words[one] == self._words[other]

    def _n_words(self, group: Iterable[int]) -> int:
        return len({self._words[token_id] for token_id in group})

    def _largest_of(self, token_ids: Sequence[int]) -> int:
        return max((self._n_words(group) for group in self.groups(token_ids)), default=0)

    def _named(self, group: Sequence[int]) -> Pattern:
        """A group by its word with the most links."""
        most = max(group, key=lambda one: sum(self._is_linked(one, other) for other in group))
        return Pattern(f"words near {self._words[most]!r} in the unembedding", "semantic", tuple(group))


@lru_cache(maxsize=4)
def _random_lists(tokens: tuple[int, ...], n_shown: int) -> tuple[tuple[int, ...], ...]:
    """Lists of different tokens of a vocabulary, which several models may have."""
    # Python keeps the numbers of `random()` the same from release to release, as it does not those of `sample`.
    numbers = random.Random(0)  # noqa: S311 - no secret
    lists = []
    for _ in range(N_RANDOM_LISTS):
        drawn: dict[int, None] = {}
        while len(drawn) < min(n_shown, len(tokens)):
            drawn[tokens[int(numbers.random() * len(tokens))]] = None
        lists.append(tuple(drawn))
    return tuple(lists)


def read_near(connection: duckdb.DuckDBPyConnection, model_id: int) -> Near:
    """The tokens linked to each token in a model's unembedding."""
    rows = records(connection, _NEAR_TOKENS, {"model_id": model_id})
    return {row["token_id"]: tuple(row["near"]) for row in rows}
