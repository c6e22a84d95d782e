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
    rows = _rows(coefficients)
    for start in range(0, len(coefficients), rows):
        stop = start + rows
        block = coefficients[start:stop].float()
        is_open = None if gates is None else exceeds(gates[start:stop].float(), 0.0)
        _add_poles(tally, block, is_open, bounds)
        _add_shares(tally, block.abs(), scales.reshape(-1)[start:stop], is_first.reshape(-1)[start:stop])
    return tally


def _rows(coefficients: Float[Tensor, "rows d_ffn"]) -> int:
    """How many rows are looked at together; on a GPU all, as there a call costs more than the memory it walks."""
    if coefficients.device.type != "cpu":
        return max(1, len(coefficients))
    return min(_ROWS_AT_ONCE, max(8, _BLOCK_BYTES // (4 * coefficients.shape[1])))


def _add_poles(
    tally: PoleTally,
    block: Float[Tensor, "rows d_ffn"],
    is_open: Bool[Tensor, "rows d_ffn"] | None,
    bounds: Float[Tensor, " d_ffn"],
) -> None:
    for pole, signed in enumerate((block, -block)):
        totals, part = tally.totals[pole], signed.clamp_min(0)
        is_active = exceeds(part, 0.0)
        totals[ACTIVE] += _count(is_active)
        totals[N_STRONG] += _count(exceeds(part, bounds))
        totals[ABS] += _sum(part)
        totals[SQUARES] += _sum(part * part)
        tally.largest[pole] = torch.maximum(tally.largest[pole], part.amax(0))
        if is_open is not None:
            totals[OPEN] += _count(is_active & is_open)
            totals[OPEN_ABS] += _sum(part * is_open)


def _add_shares(
    tally: PoleTally,
    magnitudes: Float[Tensor, "rows d_ffn"],
    scales: Float[Tensor, " rows"],
    is_first: Bool[Tensor, " rows"],
) -> None:
    for place, mask in ((LATER, ~is_first), (FIRST, is_first)):
        if place == FIRST and not tally.n_first:
            continue
        scaled = magnitudes * (scales * mask)[:, None]
        tally.shares[place] += _sum(scaled)
        tally.largest_shares[place] = torch.maximum(tally.largest_shares[place], scaled.amax(0))


def _count(marks: Bool[Tensor, "rows d_ffn"]) -> Tensor:
    """[d_ffn] how many rows are marked."""
    if marks.device.type != "cpu":
        return marks.sum(0)
    # NumPy adds bytes, where torch would widen each.
    return torch.from_numpy(np.add.reduce(marks.numpy().view(np.uint8), axis=0, dtype=np.uint8))


def _sum(values: Float[Tensor, "rows d_ffn"]) -> Float[Tensor, " d_ffn"]:
    """[d_ffn] sums of the columns."""
    if values.device.type != "cpu":
        return values.sum(0, dtype=torch.float64)
    # A product with ones is faster than a sum (torch 2.13, AVX-512).
    return torch.mv(values.T, torch.ones(len(values)))
