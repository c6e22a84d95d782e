"""What measuring takes of memory and disk, estimated from above from sizes alone: a model's shape, a text's extent."""

from dataclasses import dataclass

from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.models.families.shapes import Shape


@dataclass(frozen=True)
class Extent:
    """How large a text is."""

    n_sequences: int  # sequences
    n_tokens: int  # ids, each sequence's BOS included
    sequence_length: int  # ids that a sequence holds at most
    n_domains: int  # domains
    n_chunks: int  # chunks that it is read in

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
    """What one job takes, in bytes."""

    observing: int = 0  # memory while one layer of one chunk is watched
    folding: int = 0  # memory while one layer is folded, or measured by a job that reads only weights
    stored: int = 0  # memory from the first fold to the end
    parts: int = 0  # disk for what is staged of one layer until it is folded
    rows: int = 0  # disk for the rows of one layer, and about as much in the warehouse
    shared_rows: int = 0  # the same for rows that belong to no layer


FILE_BYTES = 8 << 10
"""What a file of rows takes beside them."""


def numbers_at_work(shape: Shape) -> int:
    """How many numbers exist at once for every id of a batch while a block runs."""
    # Pre-activation, activation, and what observers copy of it; the gate before and after its non-linearity.
    activations = 3 + 2 * shape.is_gated
    # Streams, attention's inputs and outputs, and the norms' results.
    return 10 * shape.d_model + activations * shape.d_ffn
