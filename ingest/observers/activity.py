"""How often and how strongly each neuron fires: counts and sums over the counted positions of one chunk."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.tables import ACTIVITY
from ingest.activation import ActivationRule
from ingest.batches import Batch

ABOVE = (0.1, 0.5, 1.0, 2.0)
"""Thresholds of |m| in `n_above`."""

# A block of rows is read a dozen times: it must stay in a core's second-level cache (about 1 MB).
_BLOCK_BYTES = 512 << 10

PARTIAL = {
    "domain": pl.Int16(),
    "neuron": pl.Int32(),
    "n_sequences": pl.Int64(),
    **{name: ACTIVITY.columns[name] for name in ("n_positions", "n_active", "n_active_bos")},
    "activation_bos": pl.Float64(),
    **{name: ACTIVITY.columns[name] for name in ("activation_sum", "activation_abs_sum", "activation_square_sum")},
    "activation_min": pl.Float32(),
    "activation_max": pl.Float32(),
    **{f"n_above_{number}": pl.Int64() for number in range(len(ABOVE))},
    "first_active": pl.Int64(),
}
"""Columns of a partial: sums over one chunk, `activation_bos` a sum, `first_active` -1 where never."""


@dataclass(eq=False)
class _Tally:
    """Sums of one domain. Counts are exact in float64 up to 2^53 positions."""

    totals: Float[Tensor, "numbers d_ffn"]
    minimum: Float[Tensor, " d_ffn"]
    maximum: Float[Tensor, " d_ffn"]
    first_active: Tensor
    n_positions: int = 0
    n_sequences: int = 0


_ACTIVE, _BOS_ACTIVE, _BOS, _SUM, _ABS, _SQUARES, _ABOVE = range(7)
_N_TOTALS = _ABOVE + len(ABOVE)


class ActivityObserver:
    """Counts one layer's activations over one chunk, by domain.

    Inside a block of some dozens of rows numbers are summed in float32, whose relative error there is below 1e-5;
    blocks are added up in float64, in the order of the corpus.
    """

    def __init__(self, d_ffn: int, rule: ActivationRule, *, is_non_negative: bool) -> None:
        """Watch `d_ffn` neurons; `is_non_negative` says that no coefficient can be below 0 (ReLU)."""
        self._d_ffn, self._rule, self._is_non_negative = d_ffn, rule, is_non_negative
        self._rows = max(8, _BLOCK_BYTES // (4 * d_ffn))
        self._tallies: dict[int, _Tally] = {}
        self._scratch: Tensor | None = None
        self._ones: Tensor | None = None

    def observe(self, batch: Batch, coefficients: Float[Tensor, "batch time d_ffn"]) -> None:
        """Take in [batch time d_ffn] coefficients m."""
        for row, (length, domain) in enumerate(zip(batch.lengths, batch.domains, strict=True)):
            tally = self._tally(domain, coefficients.device)
            tally.n_sequences += 1
            if batch.first_counted:
                self._add_bos(tally, coefficients[row, 0].float())
            for block in self._blocks(coefficients[row, batch.first_counted : length]):
                self._add(tally, block)

    def result(self) -> pl.DataFrame:
        """One row a domain of the chunk and neuron, with the columns of PARTIAL."""
        return pl.concat([self._frame(domain) for domain in sorted(self._tallies)])

    def _blocks(self, sequence: Float[Tensor, "time d_ffn"]) -> Iterator[Float[Tensor, "rows d_ffn"]]:
        for start in range(0, len(sequence), self._rows):
            yield sequence[start : start + self._rows].float()

    def _add(self, tally: _Tally, block: Float[Tensor, "rows d_ffn"]) -> None:
        scratch, ones = self._buffers(block)
        n_active = tally.totals[_ACTIVE].clone()
        self._rule.mark_(scratch, block)
        tally.totals[_ACTIVE] += ones @ scratch
        self._note_first(tally, scratch, tally.totals[_ACTIVE] > n_active)
        tally.totals[_SUM] += ones @ block
        torch.mul(block, block, out=scratch)
        tally.totals[_SQUARES] += ones @ scratch
        magnitude = block if self._is_non_negative else torch.abs(block, out=scratch)
        if not self._is_non_negative:
            tally.totals[_ABS] += ones @ magnitude
            magnitude = magnitude.clone()
        highest, lowest = block.amax(0), block.amin(0)
        torch.maximum(tally.maximum, highest, out=tally.maximum)
        torch.minimum(tally.minimum, lowest, out=tally.minimum)
        largest = float(torch.maximum(highest, -lowest).max())
        for number, threshold in enumerate(ABOVE):
            if largest <= threshold:
                break
            torch.gt(magnitude, threshold, out=scratch)
            tally.totals[_ABOVE + number] += ones @ scratch
        tally.n_positions += len(block)

    @staticmethod
    def _note_first(tally: _Tally, active: Float[Tensor, "rows d_ffn"], fired: Tensor) -> None:
        """Note the first active row of neurons that never fired before; argmax takes the first of equal values."""
        columns = torch.nonzero(fired & (tally.first_active < 0)).flatten()
        if len(columns):
            tally.first_active[columns] = tally.n_positions + active[:, columns].argmax(0)

    def _add_bos(self, tally: _Tally, coefficients: Float[Tensor, " d_ffn"]) -> None:
        active = torch.empty_like(coefficients)
        self._rule.mark_(active, coefficients)
        tally.totals[_BOS_ACTIVE] += active
        tally.totals[_BOS] += coefficients

    def _tally(self, domain: int, device: torch.device) -> _Tally:
        if domain not in self._tallies:
            self._tallies[domain] = _Tally(
                totals=torch.zeros(_N_TOTALS, self._d_ffn, dtype=torch.float64, device=device),
                minimum=torch.full((self._d_ffn,), torch.inf, device=device),
                maximum=torch.full((self._d_ffn,), -torch.inf, device=device),
                first_active=torch.full((self._d_ffn,), -1, dtype=torch.int64, device=device),
            )
        return self._tallies[domain]

    def _buffers(self, block: Float[Tensor, "rows d_ffn"]) -> tuple[Tensor, Tensor]:
        if self._scratch is None or self._ones is None:
            self._scratch = torch.empty(self._rows, self._d_ffn, device=block.device)
            self._ones = torch.ones(self._rows, device=block.device)
        return self._scratch[: len(block)], self._ones[: len(block)]

    def _frame(self, domain: int) -> pl.DataFrame:
        tally = self._tallies[domain]
        totals = tally.totals.cpu().numpy()
        counts = totals.astype(np.int64)
        columns = {
            "domain": np.full(self._d_ffn, domain, dtype=np.int16),
            "neuron": np.arange(self._d_ffn, dtype=np.int32),
            "n_sequences": np.full(self._d_ffn, tally.n_sequences),
            "n_positions": np.full(self._d_ffn, tally.n_positions),
            "n_active": counts[_ACTIVE],
            "n_active_bos": counts[_BOS_ACTIVE],
            "activation_bos": totals[_BOS],
            "activation_sum": totals[_SUM],
            "activation_abs_sum": totals[_SUM if self._is_non_negative else _ABS],
            "activation_square_sum": totals[_SQUARES],
            "activation_min": tally.minimum.cpu().numpy(),
            "activation_max": tally.maximum.cpu().numpy(),
            **{f"n_above_{number}": counts[_ABOVE + number] for number in range(len(ABOVE))},
            "first_active": tally.first_active.cpu().numpy(),
        }
        return pl.DataFrame(columns, schema=PARTIAL)
