"""In how many full-length sequences each neuron fires at each position: counts of one chunk, by domain."""

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import Batch

# A block of flags is written and read once per sequence: it must stay in a core's second-level cache (about 1 MB).
_BLOCK_BYTES = 512 << 10

PARTIAL = {"domain": pl.Int16(), "n_sequences": pl.Int64(), "counts": pl.Binary()}
"""Columns of a partial: `counts` holds a uint16 a neuron, which Parquet would keep as 32 bits a number."""


class PositionsObserver:
    """Counts one layer's activations at every counted position over one chunk's full-length sequences, by domain.

    Counts are kept in float32, which is exact: a chunk has at most 32,768 sequences.
    """

    def __init__(self, d_ffn: int, rule: ActivationRule, *, sequence_length: int) -> None:
        """Watch `d_ffn` neurons over sequences of exactly `sequence_length` ids."""
        self._d_ffn, self._rule, self._sequence_length = d_ffn, rule, sequence_length
        self._rows = max(8, _BLOCK_BYTES // (4 * d_ffn))
        self._counts: dict[int, Tensor] = {}
        self._n_sequences: dict[int, int] = {}

    def observe(
        self,
        batch: Batch,
        coefficients: Float[Tensor, "batch time d_ffn"],
        gates: Float[Tensor, "batch time d_ffn"] | None = None,
    ) -> None:
        """Take in [batch time d_ffn] coefficients m, and the gates' pre-activations."""
        decisive = self._rule.decisive(coefficients, gates)
        full = [
            (row, domain)
            for row, (length, domain) in enumerate(zip(batch.lengths, batch.domains, strict=True))
            if length == self._sequence_length
        ]
        for _, domain in full:
            self._n_sequences[domain] = self._n_sequences.get(domain, 0) + 1
        first = batch.first_counted
        # On an accelerator a whole sequence at once: there a call costs more than the memory it walks through.
        rows = self._rows if coefficients.device.type == "cpu" else self._sequence_length
        scratch = torch.empty(min(rows, self._sequence_length), self._d_ffn, device=coefficients.device)
        for start in range(first, self._sequence_length, rows):
            stop = min(start + rows, self._sequence_length)
            for row, domain in full:
                active = scratch[: stop - start]
                self._rule.mark_(active, decisive[row, start:stop].float())
                self._of(domain, coefficients.device, first)[start - first : stop - first] += active

    def result(self) -> pl.DataFrame:
        """One row a domain of the chunk and counted position, with the columns of PARTIAL."""
        frames = [self._frame(domain) for domain in sorted(self._counts)]
        return pl.concat([pl.DataFrame(schema=PARTIAL), *frames])

    def _of(self, domain: int, device: torch.device, first: int) -> Tensor:
        if domain not in self._counts:
            self._counts[domain] = torch.zeros(self._sequence_length - first, self._d_ffn, device=device)
        return self._counts[domain]

    def _frame(self, domain: int) -> pl.DataFrame:
        # A chunk's sequences cannot exceed 16 bits.
        counts = self._counts[domain].cpu().numpy().astype(np.uint16)
        columns = {
            "domain": np.full(len(counts), domain, dtype=np.int16),
            "n_sequences": np.full(len(counts), self._n_sequences[domain], dtype=np.int64),
            "counts": [position.tobytes() for position in counts],
        }
        return pl.DataFrame(columns, schema=PARTIAL)
