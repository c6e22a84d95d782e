"""What is drawn of a text before it is read: places shown for every neuron, and sequences that histograms count."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from torch import Tensor

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

HISTOGRAM_POSITIONS = 32_768
"""Counted positions after which no further sequence is drawn for histograms."""


@dataclass(frozen=True, eq=False)
class Draws:
    """What is drawn of one text with one seed: the same for every layer, chunk and batch.

    Attributes:
        seed: of the draws.
        places: (sequence, position) of each random place, in the order in which they were drawn.
        is_in_histogram: bool [n_sequences], whether a sequence's activations are counted by size.
        lengths: int64 [n_sequences], how many ids each sequence has.
        first_counted: first counted position of each: 1 where a BOS was prepended, else 0.
    """

    seed: int
    places: tuple[tuple[int, int], ...]
    is_in_histogram: np.ndarray
    lengths: np.ndarray
    first_counted: int

    @classmethod
    def of(cls, corpus: Corpus, *, n_places: int, seed: int) -> "Draws":
        """Counted positions without replacement, each as likely as any other; sequences in random order until full."""
        first = int(corpus.has_bos)
        lengths = np.diff(corpus.offsets)
        n_counted = lengths - first
        ends = np.cumsum(n_counted)
        n = min(n_places, corpus.n_counted)
        drawn = random_stream(seed, Purpose.RANDOM_PLACES).choice(corpus.n_counted, size=n, replace=False)
        sequences = np.searchsorted(ends, drawn, side="right")
        positions = drawn - (ends - n_counted)[sequences] + first
        order = random_stream(seed, Purpose.HISTOGRAM_SEQUENCES).permutation(corpus.n_sequences)
        before = np.cumsum(n_counted[order]) - n_counted[order]
        is_in_histogram = np.zeros(corpus.n_sequences, dtype=np.bool_)
        is_in_histogram[order[before < HISTOGRAM_POSITIONS]] = True
        places = tuple(zip(sequences.tolist(), positions.tolist(), strict=True))
        return cls(seed, places, is_in_histogram, lengths, first)


KEPT = 10
"""Strongest places a neuron."""


@dataclass(frozen=True)
class Amounts:
    """How many windows are kept for each neuron.

    Attributes:
        strongest: around the first of its strongest places.
        sampled: in sequences drawn of those that it fires in.
        random: around positions drawn of the whole text.
    """

    strongest: int
    sampled: int
    random: int

    @classmethod
    def of(cls, *, is_non_negative: bool) -> "Amounts":
        """ReLU keeps half as many again: most of its activations are 0 and take a bit, others a byte."""
        return cls(6, 9, 3) if is_non_negative else cls(4, 6, 2)

    @property
    def n_windows(self) -> int:
        """Windows of a neuron, at most."""
        return self.strongest + self.sampled + self.random


# The increment and the two factors of SplitMix64 (Steele, Lea and Flood 2014, figure 17), as signed numbers.
_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_FACTORS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))
_SHIFTS = (30, 27, 31)


def priorities(seed: int, rows: Int[Tensor, " rows"], columns: Int[Tensor, " columns"]) -> Int[Tensor, "rows columns"]:
    """[rows columns] 63 random bits for each pair, a function of seed, row and column alone.

    The k pairs of a column that have the highest priorities are k rows drawn without replacement, each set as likely as
    any other; of two halves of the rows the k highest of both are among the k highest of each.

    Args:
        seed: of the draw.
        rows: int64, at least 0.
        columns: int64, at least 0.
    """
    of_columns = _mixed((columns + 1) * _STEP + seed)
    of_rows = _mixed((rows + 1) * _STEP)
    return (_mixed(of_rows[:, None] ^ of_columns) >> 1) & ((1 << 63) - 1)


def _mixed(words: Tensor) -> Tensor:
    """SplitMix64's output function; torch multiplies int64 modulo 2^64."""
    for shift, factor in zip(_SHIFTS, (*_FACTORS, None), strict=True):
        # An arithmetic shift brings copies of the sign in, which are masked out.
        words = words ^ ((words >> shift) & ((1 << (64 - shift)) - 1))
        if factor is not None:
            words = words * factor
    return words
