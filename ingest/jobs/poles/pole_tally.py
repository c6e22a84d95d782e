"""Counts and sums over the counted positions of a stretch of text, by neuron and by the sign of its coefficient."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from neurothek.ingest.forward.activation_rule import exceeds
from neurothek.ingest.forward.counted import CountedSequences

ACTIVE, N_STRONG, ABS, SQUARES, OPEN, OPEN_ABS = range(6)
"""Rows of `PoleTally.totals` of a pole, the positive one first: those of `OPEN` are where the gate is open."""

LATER, FIRST = range(2)
"""Rows of `PoleTally.shares` and `PoleTally.largest_shares`: positions after 0, and position 0."""

# What is made of a block of rows stays in a core's second-level cache.
_BLOCK_BYTES = 1536 << 10

# So many rows can be counted in a byte, and added up in float32; see the job `activity`.
_ROWS_AT_ONCE = 255


@dataclass(eq=False)
class PoleTally:
    """What is counted over some stretch of one domain."""

    totals: Float[Tensor, "poles numbers d_ffn"]  # float64, exact for counts up to 2^53 positions
    largest: Float[Tensor, "poles d_ffn"]  # the largest |m| of each sign, 0 where there is none
    shares: Float[Tensor, "places d_ffn"]  # float64, sums of |m| over what the position is divided by
    largest_shares: Float[Tensor, "places d_ffn"]  # the largest of these, 0 where there is none
    n_positions: int = 0  # counted positions
    n_first: int = 0  # those of them that are position 0

    @classmethod
    def empty(cls, d_ffn: int, device: torch.device) -> "PoleTally":
        """Nothing counted yet."""
        return cls(
            totals=torch.zeros(2, OPEN_ABS + 1, d_ffn, dtype=torch.float64, device=device),
            largest=torch.zeros(2, d_ffn, device=device),
            shares=torch.zeros(2, d_ffn, dtype=torch.float64, device=device),
            largest_shares=torch.zeros(2, d_ffn, device=device),
        )

    def append(self, later: "PoleTally") -> None:
        """Add another stretch of text."""
        self.totals += later.totals
        self.shares += later.shares
        self.largest = torch.maximum(self.largest, later.largest)
        self.largest_shares = torch.maximum(self.largest_shares, later.largest_shares)
        self.n_positions += later.n_positions
        self.n_first += later.n_first


def tallied(
    run: CountedSequences, scales: Float[Tensor, "sequences time"], bounds: Float[Tensor, " d_ffn"]
) -> PoleTally:
    """Count some sequences.

    Args:
        run: the sequences.
        scales: what |m| is multiplied by at each counted position to be a share but for the norm of the value vector.
        bounds: [d_ffn] beyond which |m| is strong.
    """
    n_sequences, time, d_ffn = run.coefficients.shape
    tally = PoleTally.empty(d_ffn, run.coefficients.device)
    tally.n_positions = n_sequences * time
    tally.n_first = n_sequences if run.first_position == 0 and time else 0
    coefficients = run.coefficients.reshape(-1, d_ffn)
    gates = None if run.gates is None else run.gates.reshape(-1, d_ffn)
    is_first = torch.zeros(n_sequences, time, dtype=torch.bool, device=scales.device)
    if tally.n_first:
        is_first[:, 0] = True
    work = _Work.of(min(_rows(coefficients), len(coefficients)), bounds)
    for start in range(0, len(coefficients), len(work.ones)):
        stop = start + len(work.ones)
        of_gates = None if gates is None else gates[start:stop].float()
        magnitudes = work.add_poles(tally, coefficients[start:stop].float(), of_gates)
        work.add_shares(tally, magnitudes, scales.reshape(-1)[start:stop], is_first.reshape(-1)[start:stop])
    return tally


def _rows(coefficients: Float[Tensor, "rows d_ffn"]) -> int:
    """How many rows are looked at together; on a GPU all, as there a call costs more than the memory it walks."""
    if coefficients.device.type != "cpu":
        return max(1, len(coefficients))
    return min(_ROWS_AT_ONCE, max(8, _BLOCK_BYTES // (4 * coefficients.shape[1])))


@dataclass(frozen=True, eq=False)
class _Work:
    """Memory that the blocks of one stretch use one after the other: a new page costs more than what fills it."""

    bounds: Float[Tensor, " d_ffn"]  # beyond which |m| is strong
    ones: Float[Tensor, " rows"]
    parts: Float[Tensor, "poles rows d_ffn"]  # |m| of each sign, 0 elsewhere
    opened: Float[Tensor, "rows d_ffn"]  # 1 where the gate is open
    scratch: Float[Tensor, "rows d_ffn"]
    marks: Bool[Tensor, "rows d_ffn"]

    @classmethod
    def of(cls, rows: int, bounds: Float[Tensor, " d_ffn"]) -> "_Work":
        """Memory for blocks of so many rows."""
        shape, device = (rows, len(bounds)), bounds.device
        return cls(
            bounds,
            ones=torch.ones(rows, device=device),
            parts=torch.empty(2, *shape, device=device),
            opened=torch.empty(shape, device=device),
            scratch=torch.empty(shape, device=device),
            marks=torch.empty(shape, dtype=torch.bool, device=device),
        )

    def add_poles(
        self, tally: PoleTally, block: Float[Tensor, "rows d_ffn"], gates: Float[Tensor, "rows d_ffn"] | None
    ) -> Float[Tensor, "rows d_ffn"]:
        """Count a block by sign; [rows d_ffn] its |m|, until the next block."""
        rows = slice(len(block))
        positive, negative, scratch = self.parts[0][rows], self.parts[1][rows], self.scratch[rows]
        torch.clamp_min(block, 0, out=positive)
        torch.sub(positive, block, out=negative)
        if gates is not None:
            torch.gt(gates, 0, out=self.opened[rows])
        for pole, part in enumerate((positive, negative)):
            totals = tally.totals[pole]
            totals[ACTIVE] += self._count(part, 0.0)
            totals[N_STRONG] += self._count(part, self.bounds)
            totals[ABS] += self._sum(part)
            totals[SQUARES] += self._sum(torch.mul(part, part, out=scratch))
            tally.largest[pole] = torch.maximum(tally.largest[pole], part.amax(0))
            if gates is not None:
                torch.mul(part, self.opened[rows], out=scratch)
                totals[OPEN] += self._count(scratch, 0.0)
                totals[OPEN_ABS] += self._sum(scratch)
        return positive.add_(negative)

    def add_shares(
        self,
        tally: PoleTally,
        magnitudes: Float[Tensor, "rows d_ffn"],
        scales: Float[Tensor, " rows"],
        is_first: Bool[Tensor, " rows"],
    ) -> None:
        """Add the shares of a block's |m|, those at position 0 apart."""
        has_first = bool(tally.n_first) and bool(is_first.any())
        for place, mask in ((LATER, ~is_first), (FIRST, is_first)) if has_first else ((LATER, None),):
            of_rows = scales if mask is None else scales * mask
            scaled = torch.mul(magnitudes, of_rows[:, None], out=self.scratch[: len(magnitudes)])
            tally.shares[place] += self._sum(scaled)
            tally.largest_shares[place] = torch.maximum(tally.largest_shares[place], scaled.amax(0))

    def _count(self, values: Float[Tensor, "rows d_ffn"], bound: float | Float[Tensor, " d_ffn"]) -> Tensor:
        """[d_ffn] how many of the rows are above the bound."""
        marks = exceeds(values, bound, out=self.marks[: len(values)])
        if marks.device.type != "cpu":
            return marks.sum(0)
        # NumPy adds bytes, where torch would widen each.
        return torch.from_numpy(np.add.reduce(marks.numpy().view(np.uint8), axis=0, dtype=np.uint8))

    def _sum(self, values: Float[Tensor, "rows d_ffn"]) -> Float[Tensor, " d_ffn"]:
        """[d_ffn] sums of the columns."""
        if values.device.type != "cpu":
            return values.sum(0, dtype=torch.float64)
        # A product with ones is faster than a sum (torch 2.13, AVX-512).
        return torch.mv(values.T, self.ones[: len(values)])
