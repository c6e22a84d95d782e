"""Where each neuron fires most strongly: the largest |m| of every sequence, the best ten kept."""

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ingest.batches import Batch
from ingest.observers.sequences import CountedSequence, counted_sequences
from ingest.threads import mapped

KEPT = 10
"""Contexts a neuron."""

# Sequences whose maxima are held before the ten best are picked out.
_HELD = 48

# The position of a maximum is looked for in the one block of rows that holds it.
_BLOCK_ROWS = 64

PARTIAL = {
    "neuron": pl.Int32(),
    "activation": pl.Float32(),
    "sequence_id": pl.Int32(),
    "position": pl.Int32(),
}
"""Columns of a partial."""


class ContextsObserver:
    """Keeps, for one layer over one chunk, the ten sequences in which each neuron is strongest.

    Of several equally strong positions the first counts; coefficients of exactly 0 are no contexts.
    """

    def __init__(self, d_ffn: int, *, is_non_negative: bool) -> None:
        """Watch `d_ffn` neurons; `is_non_negative` says that no coefficient can be below 0 (ReLU)."""
        self._d_ffn, self._is_non_negative = d_ffn, is_non_negative
        # Rows of (sequence, m, position) for every neuron, in the order of the corpus.
        self._held: list[tuple[Tensor, Tensor, Tensor]] = []

    def observe(
        self,
        batch: Batch,
        coefficients: Float[Tensor, "batch time d_ffn"],
        gates: Float[Tensor, "batch time d_ffn"] | None = None,
    ) -> None:
        """Take in [batch time d_ffn] coefficients m; the gates play no part."""
        for sequences in counted_sequences(batch, coefficients):
            counted = [sequence for sequence in sequences if len(sequence.coefficients)]
            self._held += mapped(self._strongest, counted, device=coefficients.device)
            if len(self._held) >= _HELD:
                self._reduce()

    def result(self) -> pl.DataFrame:
        """Up to ten rows a neuron, best first, with the columns of PARTIAL."""
        if not self._held:
            return pl.DataFrame(schema=PARTIAL)
        self._reduce()
        sequences, values, positions = (part.cpu().numpy().T for part in self._held[0])
        kept = values != 0
        neurons = np.broadcast_to(np.arange(self._d_ffn, dtype=np.int32)[:, None], values.shape)
        columns = {
            "neuron": neurons[kept],
            "activation": values[kept],
            "sequence_id": sequences[kept].astype(np.int32),
            "position": positions[kept].astype(np.int32),
        }
        return pl.DataFrame(columns, schema=PARTIAL)

    def _reduce(self) -> None:
        """Keep the ten best a neuron; a stable sort leaves equal ones in the order of the corpus."""
        sequences, values, positions = (torch.cat(parts) for parts in zip(*self._held, strict=True))
        order = values.abs().sort(dim=0, descending=True, stable=True).indices[:KEPT]
        self._held = [(sequences.gather(0, order), values.gather(0, order), positions.gather(0, order))]

    def _strongest(
        self, sequence: CountedSequence
    ) -> tuple[Int[Tensor, "1 d_ffn"], Float[Tensor, "1 d_ffn"], Int[Tensor, "1 d_ffn"]]:
        """([1 d_ffn], [1 d_ffn], [1 d_ffn]) the sequence, the m of largest |m| in it, and its first position."""
        counted = sequence.coefficients
        maxima = torch.stack([self._magnitude(block) for block in torch.split(counted, _BLOCK_ROWS)])
        # argmax takes the first of equal values: the first block, and in it the first row.
        first_rows = maxima.argmax(0) * _BLOCK_ROWS
        rows = first_rows[None] + torch.arange(min(_BLOCK_ROWS, len(counted)), device=counted.device)[:, None]
        # The last block may be short; its last row again changes no first maximum.
        candidates = counted.gather(0, rows.clamp_(max=len(counted) - 1))
        best = candidates.abs().argmax(0)[None]
        positions = first_rows + best + sequence.first_position
        return torch.full_like(positions, sequence.number), candidates.gather(0, best).float(), positions

    def _magnitude(self, block: Float[Tensor, "rows d_ffn"]) -> Float[Tensor, " d_ffn"]:
        """[d_ffn] largest |m| of a block."""
        if self._is_non_negative:
            return block.amax(0)
        return torch.maximum(block.amax(0), -block.amin(0))
