"""Where each neuron fires most strongly: the largest |m| of every sequence, the best ten kept."""

from math import isqrt

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ingest.forward.batches import Batch
from ingest.forward.counted import CountedSequences, counted_sequences
from ingest.numerics.parallel import mapped

KEPT = 10
"""Contexts a neuron."""

# Sequences whose maxima are held before the ten best are picked out.
_HELD = 48

# A maximum alone is found ten times faster than one with its position: in sequences of at least so many positions the
# stretch that holds it is found first, and the position looked for in there (torch 2.13, AVX-512).
_LONG = 128

PARTIAL = {
    "neuron": pl.Int32(),
    "activation": pl.Float32(),
    "sequence_id": pl.Int32(),
    "position": pl.Int32(),
}
"""Columns of a partial."""


class ContextsObserver:
    """Keeps, for one layer over one chunk, the ten sequences in which each neuron is strongest.

    Of several equally strong positions the first counts; coefficients of exactly 0 are not contexts.
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
        for runs in counted_sequences(batch, coefficients):
            counted = [run for run in runs if run.coefficients.shape[1]]
            self._held += mapped(self._strongest, counted, device=coefficients.device)
            if sum(len(sequences) for sequences, _, _ in self._held) >= _HELD:
                self._reduce()

    def result(self) -> pl.DataFrame:
        """Up to ten rows per neuron, best first, with the columns of PARTIAL."""
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
        self, run: CountedSequences
    ) -> tuple[Int[Tensor, "sequences d_ffn"], Float[Tensor, "sequences d_ffn"], Int[Tensor, "sequences d_ffn"]]:
        """(sequence, m of largest |m| in it, its first position), each [sequences d_ffn]."""
        values, positions = self._first_strongest(run.coefficients)
        numbers = torch.arange(run.first, run.first + len(values), device=values.device)
        return numbers[:, None].expand_as(values), values.float(), positions + run.first_position

    def _first_strongest(
        self, counted: Float[Tensor, "sequences time d_ffn"]
    ) -> tuple[Float[Tensor, "sequences d_ffn"], Int[Tensor, "sequences d_ffn"]]:
        """M of largest |m| of each sequence, and its first position in it."""
        length = counted.shape[1]
        if length < _LONG:
            return self._searched(counted)
        size = isqrt(length)
        whole = length - length % size
        peaks = self._peaks(counted[:, :whole].reshape(len(counted), -1, size, counted.shape[2]))
        if whole < length:
            peaks = torch.cat([peaks, self._peaks(counted[:, None, whole:])], dim=1)
        starts = size * peaks.max(1).indices
        # The last stretch may be shorter: its last position is looked at again.
        inside = starts[:, None] + torch.arange(size, device=counted.device)[:, None]
        values, offsets = self._searched(counted.gather(1, inside.clamp_(max=length - 1)))
        return values, starts + offsets

    def _peaks(
        self, stretches: Float[Tensor, "sequences stretches time d_ffn"]
    ) -> Float[Tensor, "sequences stretches d_ffn"]:
        """The largest |m| of every stretch."""
        highest = stretches.amax(2)
        return highest if self._is_non_negative else torch.maximum(highest, -stretches.amin(2))

    def _searched(
        self, counted: Float[Tensor, "sequences time d_ffn"]
    ) -> tuple[Float[Tensor, "sequences d_ffn"], Int[Tensor, "sequences d_ffn"]]:
        # Of equal values `max` takes the first.
        best = (counted if self._is_non_negative else counted.abs()).max(1)
        values = best.values if self._is_non_negative else counted.gather(1, best.indices[:, None]).squeeze(1)
        return values, best.indices
