"""The counted positions of a batch, sequence by sequence: what every observer of coefficients looks at."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from jaxtyping import Float
from torch import Tensor

from ingest.batches import Batch

# What is found in so many sequences is held at once; short sequences come thousands to a batch.
_AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class CountedSequence:
    """One sequence of a batch without padding and without its prepended BOS.

    Attributes:
        number: of the sequence in the corpus.
        domain: index of its domain.
        first_position: position of the first counted coefficient.
        coefficients: m at the counted positions.
        bos: m at the prepended BOS, None where nothing is prepended.
        gates: the gates' pre-activations at the counted positions, None where nobody asks for them.
        bos_gates: those at the prepended BOS.
    """

    number: int
    domain: int
    first_position: int
    coefficients: Float[Tensor, "time d_ffn"]
    bos: Float[Tensor, " d_ffn"] | None
    gates: Float[Tensor, "time d_ffn"] | None = None
    bos_gates: Float[Tensor, " d_ffn"] | None = None


def counted_sequences(
    batch: Batch,
    coefficients: Float[Tensor, "batch time d_ffn"],
    gates: Float[Tensor, "batch time d_ffn"] | None = None,
) -> Iterator[list[CountedSequence]]:
    """[batch time d_ffn] -> the sequences of the batch in the order of the corpus, some at a time, uncopied."""
    sequences = _sequences(batch, coefficients, gates)
    while some := list(islice(sequences, _AT_ONCE)):
        yield some


def _sequences(
    batch: Batch,
    coefficients: Float[Tensor, "batch time d_ffn"],
    gates: Float[Tensor, "batch time d_ffn"] | None,
) -> Iterator[CountedSequence]:
    first = batch.first_counted
    for row, (length, domain) in enumerate(zip(batch.lengths, batch.domains, strict=True)):
        yield CountedSequence(
            number=batch.first_sequence + row,
            domain=domain,
            first_position=first,
            coefficients=coefficients[row, first:length],
            bos=coefficients[row, 0] if first else None,
            gates=None if gates is None else gates[row, first:length],
            bos_gates=gates[row, 0] if gates is not None and first else None,
        )
