"""At which counted positions each neuron was active: one bit a neuron and position, for one chunk."""

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.jobs.ngrams.counts import LANES

PARTIAL = {"column": pl.Int32(), "bits": pl.Binary()}
"""Columns of a partial: row i holds neurons 8i .. 8i + 7, a byte a counted position, neuron 8i in the lowest bit."""


class NgramsObserver:
    """Keeps the activations of one layer over one chunk as bits.

    What an n-gram triggers is exact only over the whole corpus, so nothing is counted here.
    """

    def __init__(self, d_ffn: int, rule: ActivationRule) -> None:
        """Watch `d_ffn` neurons."""
        self._n_columns, self._rule = -(-d_ffn // LANES), rule
        self._packed: list[np.ndarray] = []

    def observe(
        self,
        batch: Batch,
        coefficients: Float[Tensor, "batch time d_ffn"],
        gates: Float[Tensor, "batch time d_ffn"] | None = None,
    ) -> None:
        """Take in [batch time d_ffn] coefficients m, and the gates' pre-activations."""
        decisive = self._rule.decisive(coefficients, gates)
        for row, length in enumerate(batch.lengths):
            active = self._rule.active(decisive[row, batch.first_counted : length])
            self._packed.append(np.packbits(active.cpu().numpy(), axis=1, bitorder="little"))

    def result(self) -> pl.DataFrame:
        """One row for eight neurons, with the columns of PARTIAL."""
        empty = np.zeros((0, self._n_columns), dtype=np.uint8)
        # torch transposes bytes ten times faster than NumPy.
        columns = torch.from_numpy(np.concatenate([empty, *self._packed])).T.contiguous().numpy()
        rows = {"column": np.arange(len(columns), dtype=np.int32), "bits": [column.tobytes() for column in columns]}
        return pl.DataFrame(rows, schema=PARTIAL)
