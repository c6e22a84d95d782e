"""Whole sequences of a chunk as right-padded batches, cut by the corpus and a token count alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from neurothek.ingest.corpora.corpus import Corpus


@dataclass(frozen=True, eq=False)
class RightPadded:
    """Sequences that run together, right-padded."""

    start: int  # how many ids come before, in the batches that precede
    tokens: Int[Tensor, "batch time"]  # Int[batch time], ids; 0 where a sequence has ended
    lengths: tuple[int, ...]  # how many ids each sequence has


@dataclass(frozen=True, eq=False)
class Batch(RightPadded):
    """Whole sequences of one chunk."""

    first_sequence: int  # number of the first sequence in the corpus
    domains: tuple[int, ...]  # index of each sequence's domain
    first_counted: int  # first counted position: 1 where a BOS was prepended, else 0


def batches(corpus: Corpus, chunk: range, *, batch_tokens: int) -> Iterator[Batch]:
    """Cut a chunk into batches: as many whole sequences as fit `batch_tokens` when padded to the longest, at least one.

    The cut depends on the corpus and on `batch_tokens` alone, never on free memory.
    """
    start = chunk.start
    while start < chunk.stop:
        end, longest = start, 0
        while end < chunk.stop:
            longest = max(longest, len(corpus.sequence(end)))
            if end > start and (end + 1 - start) * longest > batch_tokens:
                break
            end += 1
        yield _batch(corpus, range(start, end))
        start = end


def _batch(corpus: Corpus, sequences: range) -> Batch:
    ids = [corpus.sequence(i) for i in sequences]
    return Batch(
        start=int(corpus.offsets[sequences.start]),
        tokens=padded(ids),
        lengths=tuple(map(len, ids)),
        first_sequence=sequences.start,
        domains=tuple(corpus.domain_of[sequences.start : sequences.stop].tolist()),
        first_counted=int(corpus.has_bos),
    )


def padded(sequences: Sequence[np.ndarray]) -> Int[Tensor, "batch time"]:
    """[batch time] the ids of some sequences, right-padded with 0."""
    tokens = np.zeros((len(sequences), max(map(len, sequences))), dtype=np.int64)
    for row, sequence in zip(tokens, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(tokens)
