"""Which positions attention sees, where it is not simply all that come before."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor


def padding_mask(lengths: Sequence[int], time: int, device: torch.device) -> Bool[Tensor, "batch 1 1 time"] | None:
    """[batch 1 1 time] whether a position can be seen, by all others; None where nothing is padded."""
    if min(lengths) == time:
        return None
    ends = torch.tensor(lengths, device=device)
    return (torch.arange(time, device=device) < ends[:, None])[:, None, None]


def window_mask(time: int, window: int, device: torch.device) -> Bool[Tensor, "1 1 time time"] | None:
    """[1 1 time time] whether a position (a row) sees another: itself and the `window` - 1 before; None if all do."""
    if time <= window:
        return None
    positions = torch.arange(time, device=device)
    back = positions[:, None] - positions[None]
    return ((back >= 0) & (back < window))[None, None]
