"""What each job takes of memory and disk, estimated from above from sizes alone: a model's shape, a text's extent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from ingest.corpora import corpus as corpora
from ingest.corpora.corpus import Corpus
from ingest.jobs.clusters import agglomeration
from ingest.jobs.ngrams import trigger_scores
from ingest.lens.scorer import workspace_bytes
from ingest.models.families.shapes import Shape


@dataclass(frozen=True)
class Extent:
    """How large a text is.

    Attributes:
        n_sequences: sequences.
        n_tokens: ids, each sequence's BOS included.
        sequence_length: ids that a sequence holds at most.
        n_domains: domains.
        n_chunks: chunks that it is read in.
    """

    n_sequences: int
    n_tokens: int
    sequence_length: int
    n_domains: int
    n_chunks: int

    @classmethod
    def of(cls, corpus: Corpus) -> "Extent":
        """The extent of a corpus that is there."""
        n_chunks = len(corpus.chunks())
        return cls(corpus.n_sequences, corpus.n_tokens, corpus.sequence_length, len(corpus.domains), n_chunks)

    @classmethod
    def full(cls, n_tokens: int, *, sequence_length: int, n_domains: int) -> "Extent":
        """A text of full-length sequences."""
        n_sequences = -(-n_tokens // sequence_length)
        in_a_chunk = max(1, corpora.CHUNK_TOKENS // sequence_length)
        n_chunks = -(-n_sequences // in_a_chunk)
        return cls(n_sequences, n_sequences * sequence_length, sequence_length, n_domains, n_chunks)

    @property
    def chunk_tokens(self) -> int:
        """Ids of the largest chunk, at most."""
        return min(self.n_tokens, max(corpora.CHUNK_TOKENS, self.sequence_length))


@dataclass(frozen=True)
class Footprint:
    """What one job takes, in bytes.

    Attributes:
        observing: memory while one layer of one chunk is watched.
        folding: memory while one layer is folded, or measured by a job that reads only weights.
        kept: memory from the first fold to the end.
        parts: disk for what is staged of one layer until it is folded.
        rows: disk for the rows of one layer, and about as much in the warehouse.
        shared_rows: the same for rows that belong to no layer.
    """

    observing: int = 0
    folding: int = 0
    kept: int = 0
    parts: int = 0
    rows: int = 0
    shared_rows: int = 0


def numbers_at_work(shape: Shape) -> int:
    """How many numbers exist at once for every id of a batch while a block runs."""
    # Pre-activation, activation, and what observers copy of it; the gate before and after its non-linearity.
    activations = 3 + 2 * shape.is_gated
    # Streams, attention's inputs and outputs, and the norms' results.
    return 10 * shape.d_model + activations * shape.d_ffn


def footprint(job: str, shape: Shape, extent: Extent | None) -> Footprint:
    """What a job takes; `extent` is None for jobs that read only weights.

    The factors count the arrays of a size that exist at once in the code of the job, and were compared with what
    processes took; a job that is not listed here is taken for a small one.
    """
    if extent is None:
        return _OF_WEIGHTS.get(job, _small_weights)(shape)
    return _OF_TEXTS.get(job, _small_text)(shape, extent)


def _threads() -> int:
    return torch.get_num_threads()


def _projections(shape: Shape) -> Footprint:
    table = shape.vocab_size * shape.d_model * 4
    values = shape.d_ffn * (shape.d_model * 4 * 3 + 8_000)
    neighbours = shape.vocab_size * 21 * 12 * 4
    return Footprint(
        folding=3 * table + workspace_bytes(shape.vocab_size) + max(values, neighbours),
        # 50 ids and scores at either end, in rows and again as postings.
        rows=shape.d_ffn * 2_400,
        shared_rows=shape.vocab_size * 20 * 10,
    )


def _clusters(shape: Shape) -> Footprint:
    # Of all neurons at once, whatever the layer: what more there is goes into distances.
    n = shape.n_layers * shape.d_ffn
    two_layers = 4 * shape.d_ffn * shape.d_model * 4 + workspace_bytes(shape.d_ffn)
    # Ten neighbours a neuron, and its place in two clusterings.
    return Footprint(folding=max(agglomeration.least_bytes(n, shape.d_model), two_layers), rows=shape.d_ffn * 200)


def _activity(shape: Shape, extent: Extent) -> Footprint:
    # Tallies of 13 numbers: of each domain, of 32 sequences at once, of the frames made of them.
    tallies = shape.d_ffn * 13 * 8 * (32 + 6 * extent.n_domains)
    rows = shape.d_ffn * extent.n_domains * 130
    return Footprint(observing=tallies, folding=6 * rows, parts=extent.n_chunks * rows, rows=rows)


def _contexts(shape: Shape, extent: Extent) -> Footprint:
    # The best of 80 sequences by neuron, sorted, and a thread's search of one sequence.
    observing = shape.d_ffn * (6_000 + 1_500 * _threads())
    rows = shape.d_ffn * 10 * 16
    return Footprint(observing=observing, folding=10 * rows, parts=extent.n_chunks * rows, rows=rows)


def _ngrams(shape: Shape, extent: Extent) -> Footprint:
    chunk_bits = shape.d_ffn * extent.chunk_tokens // 8
    n_distinct = min(shape.vocab_size, extent.n_tokens) + 2 * extent.n_tokens
    index = extent.n_tokens * 28 + n_distinct * 24
    numbering = extent.n_tokens * 64
    unembedding = shape.vocab_size * shape.d_model * 4
    bits = shape.d_ffn * extent.n_tokens // 8
    scores = shape.vocab_size * min(trigger_scores.BLOCK, shape.d_ffn) * 4 + shape.d_ffn * shape.d_model * 4 * 2
    counting = extent.n_tokens * 80 * _threads() + 3 * min(bits, READ_BYTES)
    triggers = shape.d_ffn * 8_000
    return Footprint(
        observing=4 * chunk_bits,
        folding=max(numbering, counting + scores + triggers),
        kept=index + unembedding,
        parts=bits + extent.n_chunks * (_FILE_BYTES + shape.d_ffn * 4),
        rows=shape.d_ffn * 900,
        shared_rows=100_000,
    )


def _positions(shape: Shape, extent: Extent) -> Footprint:
    cells = shape.d_ffn * extent.sequence_length
    # Domains follow one another: a chunk holds counts of another one only where the next begins.
    parts = cells * 2 * min(extent.n_chunks + extent.n_domains - 1, extent.n_sequences)
    parts += extent.n_chunks * (_FILE_BYTES + extent.sequence_length * extent.n_domains * 24)
    # A thread measures the profiles of 256 neurons at once, with a dozen arrays of 64 bits.
    block = min(256, shape.d_ffn) * extent.sequence_length * 8 * 12 * _threads()
    # Every count of every neuron is a row's only where the position tells much: here it is taken to be so.
    counts = (extent.n_domains + 1) * (cells + shape.d_ffn * 64) * 8
    return Footprint(
        observing=cells * extent.n_domains * 8 + (1 << 20),
        folding=cells * (4 * extent.n_domains + 6 * min(2, extent.n_domains)) + 2 * counts + block,
        parts=parts,
        rows=shape.d_ffn * 400 + counts // 8,
    )


READ_BYTES = 32 << 20
"""Bits that the fold of n-grams reads at a time."""

# What a file of rows takes beside them.
_FILE_BYTES = 8 << 10


def _small_text(shape: Shape, extent: Extent) -> Footprint:
    rows = shape.d_ffn * 1_000
    return Footprint(observing=16 * rows, folding=16 * rows, parts=extent.n_chunks * rows, rows=rows)


def _small_weights(shape: Shape) -> Footprint:
    rows = shape.d_ffn * 1_000
    return Footprint(folding=2 * shape.vocab_size * shape.d_model * 4 + 16 * rows, rows=rows)


_OF_WEIGHTS: Mapping[str, Callable[[Shape], Footprint]] = {"projections": _projections, "clusters": _clusters}
_OF_TEXTS: Mapping[str, Callable[[Shape, Extent], Footprint]] = {
    "activity": _activity,
    "contexts": _contexts,
    "ngrams": _ngrams,
    "positions": _positions,
}
