"""N-grams by loops written from the definitions, for tests of the job and of the views."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Ngram = tuple[int, ...]
PERCENTAGES = (50, 80, 90, 95, 99)


@dataclass(frozen=True)
class Line:
    """One sequence: its ids, and at which positions one neuron was active, both without a prepended BOS."""

    ids: Sequence[int]
    active: Sequence[bool]


def occurrences(lines: Sequence[Line], n: int) -> Counter[Ngram]:
    """How often each n-gram occurs inside a sequence."""
    return Counter(tuple(line.ids[end - n + 1 : end + 1]) for line in lines for end in range(n - 1, len(line.ids)))


def activations(lines: Sequence[Line], n: int) -> Counter[Ngram]:
    """How often the neuron was active where each n-gram ends."""
    return Counter(
        tuple(line.ids[end - n + 1 : end + 1])
        for line in lines
        for end in range(n - 1, len(line.ids))
        if line.active[end]
    )


def ranked(counts: Counter[Ngram]) -> list[tuple[Ngram, int]]:
    """By count, most first, ties by ids."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def coverage(counts: Counter[Ngram], percent: int) -> int:
    """Fewest n-grams that hold so many percent of the activations."""
    total, held, taken = sum(counts.values()), 0, 0
    for _, count in ranked(counts):
        if 100 * held >= percent * total:
            break
        held += count
        taken += 1
    return taken


def kept(counts: Counter[Ngram], seen: Counter[Ngram], n: int) -> list[tuple[Ngram, int]]:
    """The triggers that the warehouse keeps of one neuron."""
    best = ranked(counts)
    if coverage(counts, 95) > 64:
        return best[: 10 if n == 1 else 5]
    return best[:64] + [(ngram, count) for ngram, count in best[64:] if seen[ngram] >= 10 and 2 * count >= seen[ngram]]
