"""Population moments of every column of a tall matrix, gathered while pieces of it are in cache."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Float
from torch import Tensor

# Every cell of the float32 accumulators takes at most this many values before it is added to the float64 totals: the
# relative error of a sum of like signs is then at most 64 * 2^-24 = 4e-6, and typically a hundredth of it.
PIECES_PER_FLUSH = 64


@dataclass(frozen=True)
class Moments:
    """`[columns]`, float64, over the rows of a matrix.

    Attributes:
        mean: first moment.
        sd: population standard deviation.
        skewness: third standardized moment; not a number where `sd` is 0.
        kurtosis: fourth standardized moment minus 3; not a number where `sd` is 0.
        negative_share: share of entries below 0.
    """

    mean: Float[Tensor, " columns"]
    sd: Float[Tensor, " columns"]
    skewness: Float[Tensor, " columns"]
    kurtosis: Float[Tensor, " columns"]
    negative_share: Float[Tensor, " columns"]

    def scaled(self, factors: Float[Tensor, " columns"]) -> "Moments":
        """The moments of the same columns, each multiplied by a positive factor."""
        return replace(self, mean=self.mean * factors, sd=self.sd * factors)

    @classmethod
    def joined(cls, parts: Sequence["Moments"]) -> "Moments":
        """The moments of several matrices with the same rows, their columns side by side."""
        return cls(**{field.name: torch.cat([getattr(part, field.name) for part in parts]) for field in fields(cls)})


class PowerSums:
    """Collects sums of powers around a shift; the shift only needs to be near the mean, the result corrects for it."""

    def __init__(self, *, piece_rows: int, columns: int, device: torch.device) -> None:
        self._piece_rows = piece_rows
        self._storage = torch.empty(8, piece_rows * columns, device=device)

    def start(self, shift: Float[Tensor, " columns"]) -> None:
        """Begin a new matrix of as many columns as `shift` has values, at most the `columns` of the constructor."""
        columns = shift.shape[0]
        buffers = self._storage[:, : self._piece_rows * columns].view(8, self._piece_rows, columns)
        self._centred, self._squared, self._below = buffers[0], buffers[1], buffers[2]
        self._cells = buffers[3:]
        self._cells.zero_()
        self._totals = torch.zeros(5, columns, dtype=torch.float64, device=shift.device)
        self._shift = shift
        self._rows = 0
        self._pieces = 0

    def add(self, piece: Float[Tensor, "rows columns"]) -> None:
        """Add at most `piece_rows` rows.

        Sums run down the cells of float32 accumulators, not across rows: one fused pass each, and no cell grows long.
        """
        rows = piece.shape[0]
        centred, squared, below = self._centred[:rows], self._squared[:rows], self._below[:rows]
        first, second, third, fourth, negative = self._cells[:, :rows]
        torch.sub(piece, self._shift, out=centred)
        torch.mul(centred, centred, out=squared)
        first.add_(centred)
        second.add_(squared)
        third.addcmul_(centred, squared)
        fourth.addcmul_(squared, squared)
        # A comparison written to floats is four times faster than one written to booleans (torch 2.13, AVX-512).
        negative.add_(torch.lt(piece, 0, out=below))
        self._rows += rows
        self._pieces += 1
        if self._pieces % PIECES_PER_FLUSH == 0:
            self._flush()

    def _flush(self) -> None:
        self._totals += self._cells.sum(dim=1, dtype=torch.float64)
        self._cells.zero_()

    def result(self) -> Moments:
        """The moments of all rows added since `start`."""
        self._flush()
        first, second, third, fourth, negative = self._totals / self._rows
        variance = (second - first**2).clamp_min(0)
        sd = variance.sqrt()
        third_central = third - 3 * first * second + 2 * first**3
        fourth_central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        return Moments(
            mean=self._shift.double() + first,
            sd=sd,
            skewness=third_central / (variance * sd),
            kurtosis=fourth_central / variance**2 - 3,
            negative_share=negative,
        )
