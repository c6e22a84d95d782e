"""How often the neurons of some columns were active on every n-gram, and how many n-grams cover their activations.

A byte of a layer's packed bits holds eight neurons: a column of them. It is spread to a word of eight bytes, so that
one addition of words counts eight neurons; no byte overflows, since at most 255 words are added up before the counts
are widened. Columns that stand beside each other are counted at once: on a short text calls cost more than numbers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neurothek.ingest.jobs.ngrams.index import PIECE, NgramIndex

LANES = 8
"""Neurons in a byte."""

COVERAGE = (50, 80, 90, 95, 99)
"""Percentages of a neuron's activations of which the coverage is stored."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_SPREAD = _BITS.view(np.uint64)[:, 0]

# One bit of each of eight bytes.
_MASKS = [np.uint64(0x0101010101010101 << lane) for lane in range(LANES)]


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """Activations by n-gram of the neurons of some columns, eight each: neuron 8c + i is *lane* 8c + i."""

    index: NgramIndex  # the n-grams
    bits: np.ndarray  # uint8 [n_counted columns], bit i of a byte: lane 8c + i was active at that counted position
    wide: np.ndarray  # int64 [n_wide lanes], counts of the n-grams that occur more than 255 times
    narrow: np.ndarray  # uint8 [n_repeated - n_wide, lanes], counts of the other repeated n-grams
    n_active: np.ndarray  # int64 [lanes], activations on all n-grams

    @classmethod
    def of(cls, index: NgramIndex, bits: np.ndarray, totals: np.ndarray) -> "NgramCounts":
        """Count the bits uint8 [n_counted columns], of whose bytes int64 [lanes] `totals` have each bit."""
        n_lanes = LANES * bits.shape[1]
        n_active = totals - active_totals(bits[index.without])
        if not index.n_repeated:
            empty = np.zeros((0, n_lanes))
            return cls(index, bits, empty.astype(np.int64), empty.astype(np.uint8), n_active)
        words = _SPREAD.take(bits[index.repeated_positions])
        pieces = np.add.reduceat(words, index.piece_starts, axis=0).view(np.uint8).reshape(-1, n_lanes)
        wide = np.zeros((0, n_lanes), dtype=np.int64)
        if index.n_wide:
            wide = np.add.reduceat(pieces[: index.n_wide_pieces], index.wide_starts, axis=0, dtype=np.int64)
        return cls(index, bits, wide, pieces[index.n_wide_pieces :], n_active)

    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """(int64 [values lanes], int64 [values lanes]) counts above 0, falling, and how many n-grams have each."""
        is_small = self.wide <= PIECE
        histogram = _histogram(self.narrow) + _histogram(np.where(is_small, self.wide, 0))
        # What is left of the activations are those on n-grams that occur once.
        histogram[1] += self.n_active - np.arange(PIECE + 1) @ histogram - np.where(is_small, 0, self.wide).sum(axis=0)
        large = -np.sort(-np.where(is_small, 0, self.wide), axis=0)
        small = np.broadcast_to(np.arange(PIECE, 0, -1)[:, None], (PIECE, large.shape[1]))
        return np.concatenate([large, small]), np.concatenate([np.minimum(large, 1), histogram[:0:-1]])

    @cached_property
    def on_single(self) -> np.ndarray:
        """uint8 [columns n_single], the bits of each column on the n-grams that occur once."""
        return np.ascontiguousarray(self.bits[self.index.single_positions].T)

    def fired_once(self) -> np.ndarray:
        """uint8 [columns n_first], of each n-gram of `index.first_by_ids`: bit i, the lane was active on it once."""
        index = self.index
        rows, is_single, positions = index.first_by_ids, index.first_are_single, index.first_positions
        fired = np.empty((len(rows), self.bits.shape[1]), dtype=np.uint8)
        fired[is_single] = self.bits[positions]
        repeated = rows[~is_single]
        is_wide = repeated < index.n_wide
        once = np.empty((len(repeated), len(self.n_active)), dtype=np.bool_)
        once[is_wide] = self.wide[repeated[is_wide]] == 1
        once[~is_wide] = self.narrow[repeated[~is_wide] - index.n_wide] == 1
        fired[~is_single] = np.packbits(once, axis=1, bitorder="little")
        return np.ascontiguousarray(fired.T)

    def row_counts(self, stop: int) -> np.ndarray:
        """int64 [stop lanes], the counts of the first `stop` repeated rows."""
        n_wide = min(stop, self.index.n_wide)
        return np.concatenate([self.wide[:n_wide], self.narrow[: stop - n_wide].astype(np.int64)])

    def at_least(self, floors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows, lanes, counts) where repeated n-grams have at least int64 [lanes] `floors` of each neuron."""
        index = self.index
        stop = int(np.searchsorted(-index.occurrences[: index.n_repeated], -floors.min(), side="right"))
        n_wide = min(stop, index.n_wide)
        rows, lanes = places_of(self.wide[:n_wide] >= floors)
        # As bytes: a hundred thousand of them are compared.
        narrow = self.narrow[: stop - n_wide]
        more, those = places_of(narrow >= np.minimum(floors, PIECE).astype(np.uint8))
        is_high = narrow[more, those] >= floors[those]
        more, those = more[is_high], those[is_high]
        values = np.concatenate([self.wide[rows, lanes], narrow[more, those].astype(np.int64)])
        return np.concatenate([rows, more + n_wide]), np.concatenate([lanes, those]), values


def active_totals(bits: np.ndarray) -> np.ndarray:
    """int64 [lanes] how many of the bytes uint8 [n_counted columns] have each bit."""
    n_columns = bits.shape[1]
    n_words = len(bits) // LANES
    words = np.ascontiguousarray(bits[: n_words * LANES].T).view(np.uint64)
    rest = _BITS[bits[n_words * LANES :]].sum(axis=0, dtype=np.int64)
    counted = np.empty((n_columns, LANES), dtype=np.int64)
    for lane, mask in enumerate(_MASKS):
        counted[:, lane] = np.bitwise_count(words & mask).sum(axis=1, dtype=np.int64)
    totals: np.ndarray = (rest + counted).ravel()
    return totals


def places_of(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(int64, int64) rows and columns of what is true in bool [rows columns]: faster than by two dimensions."""
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return rows, columns


def _histogram(values: np.ndarray) -> np.ndarray:
    """int64 [256 lanes] how often each value occurs in a lane; values [n lanes] are below 256."""
    n_lanes = values.shape[1]
    offsets = (PIECE + 1) * np.arange(n_lanes, dtype=np.int64)
    counted = np.bincount((values + offsets).ravel(), minlength=n_lanes * (PIECE + 1))
    return counted.reshape(n_lanes, PIECE + 1).T


@dataclass(frozen=True, eq=False)
class Coverage:
    """Totals of the neurons of some columns."""

    n_active: np.ndarray  # int64 [lanes], active positions that have a full n-gram
    n_distinct: np.ndarray  # int64 [lanes], n-grams that they end
    n_covering: np.ndarray  # int64 [percentages lanes], fewest n-grams that hold so many percent of `n_active`

    @classmethod
    def of(cls, values: np.ndarray, numbers: np.ndarray) -> "Coverage":
        """From [values neurons] counts, falling, and how many n-grams have each; exact, in integers."""
        held = np.cumsum(values * numbers, axis=0)
        taken = np.cumsum(numbers, axis=0)
        return cls(held[-1], taken[-1], _covering(values, numbers, held, taken))


def _covering(values: np.ndarray, numbers: np.ndarray, held: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """int64 [percentages neurons] the smallest k with 100 * (sum of the k largest counts) >= percent * (of all)."""
    bounds = np.array(COVERAGE)[:, None] * held[-1]
    hundredfold = 100 * held
    step = np.stack([np.argmax(hundredfold >= bound, axis=0) for bound in bounds])
    value, number = (np.take_along_axis(array, step, 0) for array in (values, numbers))
    held_before = np.take_along_axis(held, step, 0) - value * number
    taken_before = np.take_along_axis(taken, step, 0) - number
    # At that step n-grams of one count are taken until there are enough; a neuron that never fires needs none.
    missing = np.maximum(bounds - 100 * held_before, 0)
    needed: np.ndarray = taken_before + -(-missing // np.maximum(100 * value, 1))
    return needed
