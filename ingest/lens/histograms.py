"""How the entries of every column of a tall matrix spread around their mean, in bins of standard deviations."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

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
        place, found = places[: len(piece)], bins[: len(piece)]
        # Not negative any more, so that cutting off the fraction is the floor.
        torch.addcmul(offsets, piece, factors, out=place).clamp_(0, N_BINS - 1)
        found.copy_(place).add_(first)
        counts += torch.bincount(found.view(-1), minlength=columns * N_BINS)
    return counts.view(columns, N_BINS)
