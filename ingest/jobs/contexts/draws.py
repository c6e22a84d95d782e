"""What is drawn of a text before it is read: places shown for every neuron, and sequences that histograms count."""

from dataclasses import dataclass

import numpy as np

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
