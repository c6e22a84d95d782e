"""Counts and sums over the counted positions of a stretch of text, by neuron; stretches append to one another."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ingest.activation import ActivationRule
from ingest.observers.sequences import CountedSequences

ABOVE = (0.1, 0.5, 1.0, 2.0)
"""Thresholds of |m| in `n_above`."""

ACTIVE, BOS_ACTIVE, BOS, SUM, ABS, SQUARES, FIRST_ABOVE = range(7)
"""Rows of `Tally.totals`; those from `FIRST_ABOVE` on belong to the thresholds."""

# A block of rows is read a dozen times: with the copies made of it, it must stay in a core's second-level cache. Its
# sums of at most 256 float32 numbers have a relative error of at most 256 * 2^-24 = 2e-5 of sum |m|, and typically a
# hundredth of that; blocks are added up in float64.
_BLOCK_BYTES = 512 << 10
_MAX_BLOCK_ROWS = 256


@dataclass(eq=False)
class Tally:
    """What is counted over some stretch of one domain.

    Attributes:
        totals: float64, exact for counts up to 2^53 positions.
        minimum: smallest coefficient.
        maximum: largest coefficient.
        first_active: how many counted positions of the stretch came before the first activation; -1: never active.
        n_positions: counted positions.
        n_sequences: sequences.
    """

    totals: Float[Tensor, "numbers d_ffn"]
    minimum: Float[Tensor, " d_ffn"]
    maximum: Float[Tensor, " d_ffn"]
    first_active: Int[Tensor, " d_ffn"]
    n_positions: int = 0
    n_sequences: int = 0

    @classmethod
    def empty(cls, d_ffn: int, device: torch.device) -> "Tally":
        """Nothing counted yet."""
        return cls(
            totals=torch.zeros(FIRST_ABOVE + len(ABOVE), d_ffn, dtype=torch.float64, device=device),
            minimum=torch.full((d_ffn,), torch.inf, device=device),
            maximum=torch.full((d_ffn,), -torch.inf, device=device),
            first_active=torch.full((d_ffn,), -1, dtype=torch.int64, device=device),
        )

    def append(self, later: "Tally") -> None:
        """Add the stretch of text that follows this one."""
        began = (self.first_active < 0) & (later.first_active >= 0)
        self.first_active = torch.where(began, later.first_active + self.n_positions, self.first_active)
        self.totals += later.totals
        self.minimum = torch.minimum(self.minimum, later.minimum)
        self.maximum = torch.maximum(self.maximum, later.maximum)
        self.n_positions += later.n_positions
        self.n_sequences += later.n_sequences


@dataclass(frozen=True)
class Tallier:
    """Counts one run of sequences after the other; several threads may use it at once.

    Attributes:
        rule: when a coefficient counts as active.
        is_non_negative: whether no coefficient can be below 0 (ReLU), so that |m| = m.
    """

    rule: ActivationRule
    is_non_negative: bool

    def sequences(self, counted: CountedSequences, *, ignored: Bool[Tensor, " d_ffn"]) -> Tally:
        """Count some sequences; `ignored` are neurons whose first activation nobody asks for any more."""
        n_sequences, _, d_ffn = counted.coefficients.shape
        tally = Tally.empty(d_ffn, counted.coefficients.device)
        tally.n_sequences = n_sequences
        if counted.bos is not None:
            values = counted.bos.float()
            decisive = values if counted.bos_gates is None else counted.bos_gates.float()
            tally.totals[BOS] += values.sum(0, dtype=torch.float64)
            tally.totals[BOS_ACTIVE] += self.rule.mark_(torch.empty_like(values), decisive).sum(0)
        # One sequence stays where it is; several, which are small, are copied to lie without gaps.
        coefficients = counted.coefficients.reshape(-1, d_ffn)
        gates = None if counted.gates is None else counted.gates.reshape(-1, d_ffn)
        rows = min(_MAX_BLOCK_ROWS, max(8, _BLOCK_BYTES // (4 * d_ffn)))
        scratch = torch.empty(min(rows, len(coefficients)), d_ffn, device=coefficients.device)
        for start in range(0, len(coefficients), rows):
            block = coefficients[start : start + rows].float()
            decisive = block if gates is None else gates[start : start + rows].float()
            self._add(tally, block, decisive, scratch[: len(block)], ignored)
        return tally

    def _add(
        self,
        tally: Tally,
        block: Float[Tensor, "rows d_ffn"],
        decisive: Float[Tensor, "rows d_ffn"],
        scratch: Float[Tensor, "rows d_ffn"],
        ignored: Bool[Tensor, " d_ffn"],
    ) -> None:
        ones = torch.ones(len(block), device=block.device)
        self._add_active(tally, self.rule.mark_(scratch, decisive), ones, ignored)
        # A product with ones adds up rows four times faster than a sum over them, and a comparison written to floats
        # is four times faster than one written to booleans (torch 2.13, AVX-512).
        tally.totals[SUM] += ones @ block
        tally.totals[SQUARES] += ones @ torch.mul(block, block, out=scratch)
        magnitudes = block if self.is_non_negative else block.abs()
        tally.totals[ABS] += ones @ magnitudes
        highest, lowest = block.amax(0), block.amin(0)
        tally.maximum = torch.maximum(tally.maximum, highest)
        tally.minimum = torch.minimum(tally.minimum, lowest)
        largest = float(torch.maximum(highest, -lowest).max())
        for number, threshold in enumerate(ABOVE):
            if largest > threshold:
                tally.totals[FIRST_ABOVE + number] += ones @ torch.gt(magnitudes, threshold, out=scratch)
        tally.n_positions += len(block)

    @staticmethod
    def _add_active(
        tally: Tally,
        marks: Float[Tensor, "rows d_ffn"],
        ones: Float[Tensor, " rows"],
        ignored: Bool[Tensor, " d_ffn"],
    ) -> None:
        """Count the active rows, and note the first one of neurons that were silent so far; changes `marks`."""
        counts = ones @ marks
        tally.totals[ACTIVE] += counts
        began = (counts > 0) & (tally.first_active < 0) & ~ignored
        if bool(began.any()):
            # Rows are numbered backwards from n to 1, so that the largest number is the first active row.
            numbers = torch.arange(len(marks), 0, -1, device=marks.device)
            first = len(marks) - marks.mul_(numbers[:, None]).amax(0).long()
            tally.first_active = torch.where(began, first + tally.n_positions, tally.first_active)
