"""Which n-grams trigger a neuron most often, ranked exactly: by count, most first, ties by ids ([V] 4)."""

from dataclasses import dataclass

import numpy as np

from neurothek.ingest.jobs.ngrams.counts import COVERAGE, LANES, Coverage, NgramCounts

NARROW = 64
"""A neuron whose coverage at 95% is at most this keeps so many triggers, and all others that could make a detector."""

BRIEF = {1: 10}
"""Triggers that other neurons keep, by the length of the n-gram; 5 where it is not named."""

LEAST_RECALL_PERCENT, LEAST_OCCURRENCES = 50, 10
"""What an n-gram needs to make a detector, at the least: half of the recall that [V] asks for, so that a reader of the
warehouse can move that threshold; rarer ones are kept only among the first."""

_95 = COVERAGE.index(95)

# The brief list of a neuron is looked for among the n-grams that occur at least as often as the last of the list fires;
# so many of the most frequent n-grams give a first guess of that.
_HEAD = 256


@dataclass(frozen=True, eq=False)
class Triggers:
    """N-grams that trigger neurons, by neuron and rank.

    Attributes:
        lanes: int64, which of the neurons.
        ranks: int64, 1-based place in the kept list.
        rows: int64, row of the n-gram in its index.
        counts: int64, how often the neuron was active on it.
        could_detect: bool, whether it belongs to a narrow neuron and has the recall and the occurrences to detect.
    """

    lanes: np.ndarray
    ranks: np.ndarray
    rows: np.ndarray
    counts: np.ndarray
    could_detect: np.ndarray

    @classmethod
    def of(cls, counts: NgramCounts, coverage: Coverage) -> "Triggers":
        """The kept triggers of eight neurons."""
        is_narrow = coverage.n_covering[_95] <= NARROW
        brief = _brief(counts, np.flatnonzero(~is_narrow), kept=BRIEF.get(counts.index.n, 5))
        found = brief | {int(lane): _kept(counts, int(lane)) for lane in np.flatnonzero(is_narrow)}
        lists = [found[lane] for lane in range(LANES)]
        lanes = np.repeat(np.arange(LANES), [len(rows) for rows, _ in lists])
        rows, values = (np.concatenate([pair[part] for pair in lists]) for part in (0, 1))
        return cls(
            lanes,
            np.concatenate([np.arange(1, len(rows) + 1) for rows, _ in lists]),
            rows,
            values,
            is_narrow[lanes] & _could_detect(counts, rows, values),
        )


def _brief(counts: NgramCounts, lanes: np.ndarray, *, kept: int) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Lane -> (rows, counts) of its `kept` most frequent n-grams."""
    index = counts.index
    guess = counts.row_counts(min(_HEAD, index.n_repeated))[:, lanes]
    if len(guess) < kept or not len(lanes):
        return _rarely(counts, lanes, kept=kept)
    # No n-gram of the list is below the kept-th of the guess; where that is 1 or 0, n-grams that occur once compete.
    least = np.partition(guess, len(guess) - kept, axis=0)[len(guess) - kept]
    rare = lanes[least < 2]
    found = _rarely(counts, rare, kept=kept) if len(rare) else {}
    lanes, least = lanes[least >= 2], least[least >= 2]
    if not len(lanes):
        return found
    # Nothing occurs so often as the floors of the other neurons.
    floors = np.full(LANES, counts.index.n_positions + 1)
    floors[lanes] = least
    rows, which, values = counts.at_least(floors)
    order = np.lexsort((index.lexical[rows], -values, which))
    starts = np.searchsorted(which[order], lanes)
    for lane, start in zip(lanes.tolist(), starts.tolist(), strict=True):
        chosen = order[start : start + kept]
        found[lane] = rows[chosen], values[chosen]
    return found


def _kept(counts: NgramCounts, lane: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows, counts) of the most frequent n-grams of one neuron, and of all that could make it a detector."""
    rows, values = _ranked(counts, lane)
    is_kept = _could_detect(counts, rows, values) | (np.arange(len(rows)) < NARROW)
    return rows[is_kept], values[is_kept]


def _could_detect(counts: NgramCounts, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Bool [rows], whether n-grams have the recall and the occurrences that a detector needs at the least."""
    occurrences = counts.index.occurrences[rows]
    could_detect: np.ndarray = 100 * values >= LEAST_RECALL_PERCENT * occurrences
    could_detect &= occurrences >= LEAST_OCCURRENCES
    return could_detect


def _rarely(counts: NgramCounts, lanes: np.ndarray, *, kept: int) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Lane -> (rows, counts) of its `kept` most frequent n-grams, where a neuron fires on many of them only once."""
    index = counts.index
    near = index.first_by_ids
    fired = counts.fired_once()
    found = {}
    for lane in lanes.tolist():
        often = np.flatnonzero(counts.narrow[:, lane] > 1) + index.n_wide
        values = counts.narrow[often - index.n_wide, lane]
        if index.n_wide:
            wide = np.flatnonzero(counts.wide[:, lane] > 1)
            often, values = np.concatenate([wide, often]), np.concatenate([counts.wide[wide, lane], values])
        order = np.lexsort((index.lexical[often], -values.astype(np.int64)))[:kept]
        # The others are all as frequent: those of the smallest ids come first.
        once = near[np.flatnonzero(fired & (1 << lane))[: kept - len(order)]]
        if len(order) + len(once) < kept and len(near) < len(index.occurrences):
            found[lane] = _cut(_ranked(counts, lane), kept)
        else:
            ones = np.ones(len(once), dtype=np.int64)
            found[lane] = np.concatenate([often[order], once]), np.concatenate([values[order], ones])
    return found


def _ranked(counts: NgramCounts, lane: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows, counts) of every n-gram on which one neuron was active."""
    index = counts.index
    repeated = np.concatenate([counts.wide[:, lane], counts.narrow[:, lane].astype(np.int64)])
    some = np.flatnonzero(repeated)
    once = np.flatnonzero(counts.bits[index.single_positions] >> lane & 1)
    rows = np.concatenate([some, once + index.n_repeated])
    values = np.concatenate([repeated[some], np.ones(len(once), dtype=np.int64)])
    order = np.lexsort((index.lexical[rows], -values))
    return rows[order], values[order]


def _cut(ranked: tuple[np.ndarray, np.ndarray], kept: int) -> tuple[np.ndarray, np.ndarray]:
    return ranked[0][:kept], ranked[1][:kept]
