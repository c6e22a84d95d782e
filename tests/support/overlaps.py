"""Overlaps and counterparts by the definition: loops over all pairs of neurons and all tokens of their lists."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

Lists = Sequence[Sequence[int]]
"""The tokens that a neuron promotes and those that it suppresses, best first."""

Weights = Mapping[tuple[int, int], float]
"""(side, token) -> what it weighs."""

Place = TypeVar("Place")


def weigh(lists: Lists) -> Weights:
    """The weights of a neuron's tokens by their ranks."""
    return {(side, t): 1 / math.log2(1 + rank) for side, own in enumerate(lists) for rank, t in enumerate(own, 1)}


def overlap(one: Weights, other: Weights) -> float:
    """Weighted Jaccard: sum of minima over sum of maxima, each rounded once, so that equal overlaps are equal."""
    pairs = [(one.get(token, 0.0), other.get(token, 0.0)) for token in one.keys() | other.keys()]
    return math.fsum(map(min, pairs)) / math.fsum(map(max, pairs))


def best(one: Weights, others: Mapping[Place, Weights], n: int = 5) -> list[tuple[Place, float]]:
    """The `n` of others that overlap most, those that share nothing left out; ties in the order of `others`."""
    found = [(place, overlap(one, other)) for place, other in others.items()]
    return [pair for pair in sorted(found, key=lambda pair: -pair[1]) if pair[1] > 0][:n]


def counterparts(
    one: Mapping[tuple[int, int], Lists], other: Mapping[tuple[int, int], Lists]
) -> dict[tuple[int, int, int], dict[str, Any]]:
    """(layer, neuron, rank) of the first model -> its row of `counterparts` but for the null."""
    mine, theirs = ({place: weigh(lists) for place, lists in model.items()} for model in (one, other))
    forth = {place: best(weights, theirs) for place, weights in mine.items()}
    back = {place: best(weights, mine, 1) for place, weights in theirs.items()}
    return {
        (*place, rank): {
            "other_layer": found[0],
            "other_neuron": found[1],
            "overlap": value,
            "is_mutual": rank == 1 and back[found][0][0] == place,
        }
        for place, ranked in forth.items()
        for rank, (found, value) in enumerate(ranked, start=1)
    }


def null_99(lists: Sequence[Lists], others: Mapping[Place, Lists]) -> float:
    """What at most one in a hundred random vectors exceeds with its best."""
    weighed = {place: weigh(own) for place, own in others.items()}
    firsts = (best(weigh(own), weighed, 1) for own in lists)
    values = [found[0][1] if found else 0.0 for found in firsts]
    return min(value for value in values if sum(other > value for other in values) * 100 <= len(values))
