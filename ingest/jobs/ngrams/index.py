"""The n-grams of a corpus, numbered once: most frequent first, with the positions at which each one ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neurothek.ingest.corpora.corpus import Corpus

PIECE = 255
"""Occurrences that are counted in one byte: n-grams that occur more often are counted in pieces of so many."""


FIRST_BY_IDS = 8_192
"""Among so many n-grams those are looked for that win a tie by their ids; beyond them all are sorted."""


@dataclass(frozen=True, eq=False)
class NgramIndex:
    """All n-grams of one length, in rows: by number of occurrences, most first, ties by ids.

    An n-gram lies inside one sequence and holds no prepended BOS ([V] 4). Positions are counted positions, numbered
    through the corpus.
    """

    n: int  # length
    tokens: np.ndarray  # int32 [n_counted], the ids at the counted positions
    occurrences: np.ndarray  # int64 [n_distinct], how often each n-gram occurs, falling
    lexical: np.ndarray  # int64 [n_distinct], its place when n-grams are sorted by ids
    positions: np.ndarray  # int64 [n_positions], where n-grams end: those of row 0 first, each row's rising
    starts: np.ndarray  # int64 [n_distinct], where each row's begin in `positions`
    without: np.ndarray  # int64, counted positions that have no full n-gram: the first of every sequence
    n_repeated: int  # rows of n-grams that occur at least twice; the rows after them occur once
    piece_starts: np.ndarray  # int64, where pieces of at most `PIECE` occurrences of repeated rows begin in `positions`
    n_wide: int  # rows that take more than one piece: they come first
    wide_starts: np.ndarray  # int64 [n_wide], the first piece of each of these
    n_wide_pieces: int  # how many pieces they take

    @cached_property
    def first_by_ids(self) -> np.ndarray:
        """int64, rows of the first `FIRST_BY_IDS` n-grams when n-grams are sorted by ids."""
        return np.argsort(self.lexical)[:FIRST_BY_IDS]

    @cached_property
    def first_are_single(self) -> np.ndarray:
        """Bool, which of `first_by_ids` occur once."""
        are_single: np.ndarray = self.first_by_ids >= self.n_repeated
        return are_single

    @cached_property
    def first_positions(self) -> np.ndarray:
        """int64, where those of `first_by_ids` that occur once end."""
        positions: np.ndarray = self.single_positions[self.first_by_ids[self.first_are_single] - self.n_repeated]
        return positions

    @property
    def n_positions(self) -> int:
        """Counted positions that have a full n-gram."""
        return len(self.positions)

    @property
    def repeated_positions(self) -> np.ndarray:
        """int64, the positions of the rows that occur at least twice, row by row."""
        return self.positions[: self.n_positions - self.n_single]

    @property
    def single_positions(self) -> np.ndarray:
        """int64 [n_single], the positions of the rows that occur once, by ids."""
        return self.positions[self.n_positions - self.n_single :]

    @property
    def n_single(self) -> int:
        """How many n-grams occur once."""
        return len(self.occurrences) - self.n_repeated

    def ids(self, rows: np.ndarray) -> np.ndarray:
        """int32 [rows n], the ids of n-grams."""
        ends = self.positions[self.starts[rows]]
        ids: np.ndarray = self.tokens[ends[:, None] + np.arange(1 - self.n, 1)]
        return ids


def number_ngrams(corpus: Corpus, *, longest: int) -> Iterator[NgramIndex]:
    """The n-grams of length 1, 2, ... `longest` of a corpus."""
    counted = np.ones(corpus.n_tokens, dtype=np.bool_)
    if corpus.has_bos:
        counted[corpus.offsets[:-1]] = False
    tokens = corpus.tokens[counted]
    lengths = np.diff(corpus.offsets) - int(corpus.has_bos)
    place = np.arange(len(tokens)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    distinct, unigrams = np.unique(tokens, return_inverse=True)
    numbers = unigrams.astype(np.int64)
    for n in range(1, longest + 1):
        ends = np.flatnonzero(place >= n - 1)
        if n > 1:
            # Numbers of shorter n-grams rise with their ids, so these do too; they stay far below 2^63.
            keys = numbers[ends - 1] * len(distinct) + unigrams[ends]
            numbers = np.full(len(tokens), -1, dtype=np.int64)
            numbers[ends] = np.unique(keys, return_inverse=True)[1]
        yield _index(n, tokens, ends, numbers[ends], without=np.flatnonzero(place < n - 1))


def _index(n: int, tokens: np.ndarray, ends: np.ndarray, numbers: np.ndarray, *, without: np.ndarray) -> NgramIndex:
    counts = np.bincount(numbers)
    lexical = np.argsort(-counts, kind="stable")
    rows = np.empty_like(lexical)
    rows[lexical] = np.arange(len(lexical))
    occurrences = counts[lexical]
    starts = np.cumsum(occurrences) - occurrences
    n_repeated = int(np.count_nonzero(occurrences > 1))
    n_wide = int(np.count_nonzero(occurrences > PIECE))
    n_pieces = -(-occurrences[:n_repeated] // PIECE)
    first_pieces = np.cumsum(n_pieces) - n_pieces
    within = np.arange(int(n_pieces.sum())) - np.repeat(first_pieces, n_pieces)
    return NgramIndex(
        n=n,
        tokens=tokens,
        occurrences=occurrences,
        lexical=lexical,
        positions=ends[np.argsort(rows[numbers], kind="stable")],
        starts=starts,
        without=without,
        n_repeated=n_repeated,
        piece_starts=np.repeat(starts[:n_repeated], n_pieces) + PIECE * within,
        n_wide=n_wide,
        wide_starts=first_pieces[:n_wide],
        n_wide_pieces=int(n_pieces[:n_wide].sum()),
    )
