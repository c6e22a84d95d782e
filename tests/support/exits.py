"""What the definitions say of leaving early, as plain loops over lists."""

import math
import statistics
from collections.abc import Sequence


def similarity(mine: Sequence[int], theirs: Sequence[int], *, sets: bool) -> int:
    """Places with the same id, or ids in both; -1 stands for nobody."""
    if sets:
        return len((set(mine) & set(theirs)) - {-1})
    return sum(1 for a, b in zip(mine, theirs, strict=True) if a == b != -1)


def leaves_after(
    layer: int, own: Sequence[int], train: Sequence[tuple[int, Sequence[int]]], n_layers: int, *, sets: bool
) -> bool:
    """Whether an example is left after a layer; train: (saturation layer, list at this layer) of each example."""
    groups = {
        later: [similarity(own, theirs, sets=sets) for saturation, theirs in train if saturation == later]
        for later in range(layer, n_layers)
    }
    here = groups.pop(layer)
    if not here:
        return False
    others = [group for group in groups.values() if group]
    # Means as fractions would be equal where these are: both are quotients of whole numbers.
    return all(max(here) > max(group) and statistics.mean(here) > statistics.mean(group) for group in others)


def exit_layer(
    example: int,
    lists: Sequence[Sequence[Sequence[int]]],
    saturation: Sequence[int],
    train: Sequence[int],
    *,
    sets: bool,
) -> int:
    """The layer after which one example is left; lists: layer -> example -> ids."""
    n_layers = len(lists)
    for layer in range(n_layers - 1):
        learned = [(saturation[other], lists[layer][other]) for other in train]
        if leaves_after(layer, lists[layer][example], learned, n_layers, sets=sets):
            return layer
    return n_layers - 1


def exit_state(margins: Sequence[float], own_position: int, mean_length: float, strictness: float) -> int:
    """The first state from 1 on that is sure enough, else the last."""
    bound = 0.9 * strictness + 0.1 * math.exp(-4 * own_position / mean_length)
    for state in range(1, len(margins) - 1):
        if margins[state] > bound:
            return state
    return len(margins) - 1


def best_f1(scores: Sequence[float], labels: Sequence[bool]) -> tuple[float, float]:
    """(the largest F1, the highest score that reaches it when all from it on are called yes)."""
    found = []
    for bound in set(scores):
        said = [score >= bound for score in scores]
        right = sum(a and b for a, b in zip(said, labels, strict=True))
        found.append((2 * right / (sum(said) + sum(labels)), bound))
    return max(found)
