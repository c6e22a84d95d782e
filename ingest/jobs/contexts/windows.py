"""What a neuron does around a place: its activation at 63 positions as small integers, and the largest of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Int8
from torch import Tensor

N_BEFORE, N_AFTER = 40, 22
"""Positions of a window before its place and after it: a neuron sees what comes before. All 63 are bits of an int64."""

WIDTH = N_BEFORE + 1 + N_AFTER

STEPS = 127
"""The largest |m| of a window as an integer: an activation is `integer * largest / 127`, right to half of a 127th."""


def read_around(
    coefficients: Float[Tensor, "batch time d_ffn"],
    *,
    rows: Int[Tensor, " windows"],
    positions: Int[Tensor, " windows"],
    neurons: Int[Tensor, " windows"],
) -> Float[Tensor, "windows width"]:
    """[windows width] coefficients around each place; beyond the ends of a sequence whatever lies there."""
    _, time, d_ffn = coefficients.shape
    steps = torch.arange(-N_BEFORE, N_AFTER + 1, device=coefficients.device) * d_ffn
    at = ((rows * time + positions) * d_ffn + neurons)[:, None] + steps
    # One subtraction and one look-up a number: an index for each dimension takes three times as long.
    return coefficients.reshape(-1)[at.clamp_(0, coefficients.numel() - 1)]


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows around places, cut at the ends of the sequence and before its first counted position.

    Attributes:
        integers: from -127 to 127, the place itself at `N_BEFORE`.
        is_nonzero: where m is not 0; False beyond the ends.
        largest: the largest |m| of each window.
        n_before: positions of each before its place.
        n_after: positions of each after it.
    """

    integers: Int8[Tensor, "windows width"]
    is_nonzero: Bool[Tensor, "windows width"]
    largest: Float[Tensor, " windows"]
    n_before: Int[Tensor, " windows"]
    n_after: Int[Tensor, " windows"]

    @classmethod
    def of(
        cls,
        values: Float[Tensor, "windows width"],
        positions: Int[Tensor, " windows"],
        lengths: Int[Tensor, " windows"],
        *,
        first_counted: int,
    ) -> "Windows":
        """The windows of what `read_around` read at positions of sequences that are so long."""
        steps = torch.arange(-N_BEFORE, N_AFTER + 1, device=values.device)
        n_before = (positions - first_counted).clamp(max=N_BEFORE)
        n_after = (lengths - 1 - positions).clamp(max=N_AFTER)
        is_inside = (steps >= -n_before[:, None]) & (steps <= n_after[:, None])
        inside = values.double().masked_fill(~is_inside, 0)
        largest = inside.abs().amax(1)
        # In float64 the largest is exactly 127; a window of zeros stays one.
        scaled = inside * (STEPS / torch.where(largest > 0, largest, 1.0))[:, None]
        return cls(scaled.round().to(torch.int8), inside != 0, largest.float(), n_before, n_after)
