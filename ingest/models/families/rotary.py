"""Rotary positions: the angles by which queries and keys are turned."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

FIXED_ANGLES = frozenset({"default", "dynamic", "linear", "llama3", "yarn"})
"""Kinds whose angles are the same whatever else a batch holds; dynamic ones move beyond the context alone."""

Angles = tuple[Float[Tensor, "1 time d_rotary"], Float[Tensor, "1 time d_rotary"]]
"""Cosines and sines."""


class Rotary:
    """Angles in the number format of the stream, made once for sequences of one length after the other."""

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        """Take transformers' own module, with its buffers in place."""
        self._module = module.to(device)
        self._made: tuple[tuple[int, int, torch.dtype], Angles] | None = None

    def __call__(self, stream: Float[Tensor, "batch time d_model"], *, start: int = 0) -> Angles:
        """The angles of the positions of a stream that begins at position `start`."""
        asked = (start, stream.shape[1], stream.dtype)
        if self._made is None or self._made[0] != asked:
            positions = torch.arange(start, start + stream.shape[1], device=stream.device)
            self._made = asked, self._module(stream, positions[None])
        return self._made[1]
