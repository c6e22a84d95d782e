"""Population moments and histograms of every column of a tall matrix, gathered while pieces of it are in cache."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Moments:
    """`[columns]`, float64, over the rows of a matrix."""

    mean: Float[Tensor, " columns"]  # first moment
    sd: Float[Tensor, " columns"]  # population standard deviation
    skewness: Float[Tensor, " columns"]  # third standardized moment; not a number where `sd` is 0
    kurtosis: Float[Tensor, " columns"]  # fourth standardized moment minus 3; not a number where `sd` is 0
    negative_share: Float[Tensor, " columns"]  # share of entries below 0

    def scaled(self, factors: Float[Tensor, " columns"]) -> "Moments":
        """The moments of the same columns, each multiplied by a positive factor."""
        return replace(self, mean=self.mean * factors, sd=self.sd * factors)

    def part(self, columns: slice) -> "Moments":
        """Of some of the columns."""
        return Moments(**{field.name: getattr(self, field.name)[columns] for field in fields(self)})

    @classmethod
    def joined(cls, parts: Sequence["Moments"]) -> "Moments":
        """The moments of several matrices with the same rows, their columns side by side."""
        return cls(**{field.name: torch.cat([getattr(part, field.name) for part in parts]) for field in fields(cls)})


class PowerSums:
    """Collects sums of powers of the deviations from a mean that is known beforehand."""

    def __init__(self, *, piece_rows: int, columns: int, device: torch.device) -> None:
        self._piece_rows = piece_rows
        self._storage = torch.empty(2, piece_rows * columns, device=device)

    def start(self, mean: Float[Tensor, " columns"]) -> None:
        """Begin a new matrix with these means of its columns, float64; at most the `columns` of the constructor."""
        columns = mean.shape[0]
        self._powers, self._squares = self._storage[:, : self._piece_rows * columns].view(2, self._piece_rows, columns)
        self._sums = torch.zeros(4, columns, dtype=torch.float64, device=mean.device)
        self._mean, self._shift = mean, mean.float()
        self._rows = 0

    def add(self, piece: Float[Tensor, "rows columns"]) -> None:
        """Add at most `piece_rows` rows.

        Few buffers, so that they stay in a core's cache. PyTorch sums a piece in float32 by cascade, or as a tree on a
        GPU, whose error grows with the logarithm of its rows; pieces are added in float64.
        """
        rows = piece.shape[0]
        powers, squares = self._powers[:rows], self._squares[:rows]
        second, third, fourth, negative = self._sums
        # A comparison written to floats is four times faster than one written to booleans (torch 2.13, AVX-512).
        negative += torch.lt(piece, 0, out=powers).sum(0)
        torch.sub(piece, self._shift, out=powers)
        second += torch.mul(powers, powers, out=squares).sum(0)
        third += powers.mul_(squares).sum(0)
        fourth += squares.mul_(squares).sum(0)
        self._rows += rows

    def result(self) -> Moments:
        """The moments of all rows added since `start`."""
        second, third, fourth, negative = self._sums / self._rows
        # Deviations were taken from the mean rounded to float32: `first` is what they are off by on average.
        first = self._mean - self._shift
        variance = (second - first**2).clamp_min(0)
        sd = variance.sqrt()
        spread = torch.where(sd > 0, sd, torch.nan)
        third_central = third - 3 * first * second + 2 * first**3
        fourth_central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
        return Moments(
            mean=self._mean,
            sd=sd,
            skewness=third_central / spread**3,
            kurtosis=fourth_central / spread**4 - 3,
            negative_share=negative,
        )


LARGEST_Z = 8
BINS_PER_SD = 4
N_BINS = 2 * LARGEST_Z * BINS_PER_SD + 2
"""The first and the last bin are open."""

CENTRE = N_BINS // 2
"""The bin whose lower edge is the mean."""


def bin_counts(
    scores: Float[Tensor, "rows columns"],
    *,
    mean: Float[Tensor, " columns"],
    sd: Float[Tensor, " columns"],
    piece_rows: int,
) -> Int[Tensor, "columns bins"]:
    """[columns bins] how many entries of each column lie in each bin ([ours]).

    An entry x is in the bin max(0, min(N_BINS - 1, floor(BINS_PER_SD * z) + CENTRE)), z = (x - mean) / sd, or in the
    central one where sd is 0. z is taken in float32: an entry whose z is within about 1e-5 of an edge may be counted
    beyond it.

    Args:
        scores: the whole matrix.
        mean: means of the columns, float64.
        sd: their standard deviations, float64.
        piece_rows: rows of one step, whose operands stay in a core's cache.
    """
    rows, columns = scores.shape
    factors = torch.where(sd > 0, BINS_PER_SD / sd, 0.0)
    offsets = (CENTRE - mean * factors).float()
    factors = factors.float()
    # int32 and not int64: half the memory to read again, and counting takes half the time.
    first = torch.arange(columns, dtype=torch.int32, device=scores.device) * N_BINS
    places = torch.empty(piece_rows, columns, device=scores.device)
    bins = torch.empty(piece_rows, columns, dtype=torch.int32, device=scores.device)
    counts = torch.zeros(columns * N_BINS, dtype=torch.int64, device=scores.device)
    for start in range(0, rows, piece_rows):
        piece = scores[start : start + piece_rows]
        place, numbers = places[: len(piece)], bins[: len(piece)]
        # Not negative any more, so that cutting off the fraction is the floor.
        torch.addcmul(offsets, piece, factors, out=place).clamp_(0, N_BINS - 1)
        numbers.copy_(place).add_(first)
        counts += torch.bincount(numbers.view(-1), minlength=columns * N_BINS)
    return counts.view(columns, N_BINS)
