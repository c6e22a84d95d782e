"""The counted positions of a batch, some sequences at a time: what every observer of coefficients looks at."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice

from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.forward.batches import Batch

# What is found in so many runs of sequences is held at once.
_AT_ONCE = 32

# Short sequences are looked at together: each step on them costs a call, and a megabyte stays in a core's cache.
_TOGETHER_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class CountedSequences:
    """Neighbouring sequences of a batch, of one length and domain, without padding and without their prepended BOS."""

    first: int  # number of the first sequence in the corpus; the others follow it
    domain: int  # index of their domain
    first_position: int  # position of the first counted coefficient
    coefficients: Float[Tensor, "sequences time d_ffn"]  # m at the counted positions
    bos: Float[Tensor, "sequences d_ffn"] | None  # m at the prepended BOS, None where nothing is prepended
    # the gates' pre-activations at the counted positions, None where nobody asks for them
    gates: Float[Tensor, "sequences time d_ffn"] | None = None
    bos_gates: Float[Tensor, "sequences d_ffn"] | None = None  # those at the prepended BOS


def counted_sequences(
    batch: Batch,
    coefficients: Float[Tensor, "batch time d_ffn"],
    gates: Float[Tensor, "batch time d_ffn"] | None = None,
) -> Iterator[list[CountedSequences]]:
    """[batch time d_ffn] -> the sequences of the batch in the order of the corpus, some runs at a time, uncopied."""
    runs = _runs(batch, coefficients, gates)
    while group := list(islice(runs, _AT_ONCE)):
        yield group


def _runs(
    batch: Batch,
    coefficients: Float[Tensor, "batch time d_ffn"],
    gates: Float[Tensor, "batch time d_ffn"] | None,
) -> Iterator[CountedSequences]:
    first, row_bytes = batch.first_counted, 4 * coefficients.shape[2]
    rows = range(len(batch.lengths))
    for (length, domain), alike in groupby(rows, key=lambda row: (batch.lengths[row], batch.domains[row])):
        together = max(1, _TOGETHER_BYTES // (length * row_bytes))
        while group := list(islice(alike, together)):
            run = slice(group[0], group[-1] + 1)
            yield CountedSequences(
                first=batch.first_sequence + run.start,
                domain=domain,
                first_position=first,
                coefficients=coefficients[run, first:length],
                bos=coefficients[run, 0] if first else None,
                gates=None if gates is None else gates[run, first:length],
                bos_gates=gates[run, 0] if gates is not None and first else None,
            )
