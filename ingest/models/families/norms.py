"""Layer norms and RMS norms as numbers: what they do to a vector, and how a row of weights reads through them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, eq=False)
class Norm:
    """x -> gamma * (x - mean) / sqrt(variance + eps) + beta; an RMS norm: gamma * x / sqrt(mean of x^2 + eps)."""

    gamma: Float[Tensor, " d_model"]  # float32
    beta: Float[Tensor, " d_model"]  # float32; 0 in an RMS norm
    eps: float  # what keeps the divisor from 0
    is_centred: bool = True  # whether the mean is taken off, as layer norms do and RMS norms do not

    @torch.inference_mode()
    def __call__(self, vectors: Float[Tensor, "n d_model"], *, bias: bool = True) -> Float[Tensor, "n d_model"]:
        """[n d_model] the vectors normalized; without beta if `bias` is off."""
        width = vectors.shape[1:]
        if self.is_centred:
            return functional.layer_norm(vectors, width, self.gamma, self.beta if bias else None, self.eps)
        return functional.rms_norm(vectors, width, self.gamma, self.eps)

    def divisors(self, vectors: Float[Tensor, "n d_model"]) -> Float[Tensor, " n"]:
        """[n] what each vector is divided by: sqrt(variance + eps), in an RMS norm sqrt(mean square + eps)."""
        vectors = vectors.float()
        spread = vectors.var(1, correction=0) if self.is_centred else vectors.square().mean(1)
        return (spread + self.eps).sqrt()

    def readers_(self, rows: Float[Tensor, "n d_model"]) -> Float[Tensor, "n d_model"]:
        """[n d_model] the rows r such that r . x over its divisor, plus row . beta, is row . norm(x); changes `rows`.

        row . (gamma * (x - mean x)) = x . (gamma * row - mean(gamma * row)): centring the row centres every vector.
        """
        rows *= self.gamma
        if self.is_centred:
            rows -= rows.mean(1, keepdim=True)
        return rows


FIXED_ANGLES = frozenset({"default", "dynamic", "linear", "llama3", "yarn"})
"""Kinds whose angles are the same whatever else a batch holds; dynamic ones move beyond the context alone."""

Angles = tuple[Float[Tensor, "1 time d_rotary"], Float[Tensor, "1 time d_rotary"]]
"""Cosines and sines."""


class Rotary:
    """Angles in the number format of the stream, made once for sequences of one length after the other."""

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        """Take transformers' own module, with its buffers in place."""
        self._module = module.to(device)
        self._made: dict[str | None, tuple[tuple[int, int, torch.dtype], Angles]] = {}

    def __call__(
        self, stream: Float[Tensor, "batch time d_model"], *, start: int = 0, kind: str | None = None
    ) -> Angles:
        """The angles of the positions of a stream that begins at position `start`.

        Args:
            stream: what they are for.
            start: the position of its first ids.
            kind: of which kind of layer; None where all rotate alike.
        """
        key = (start, stream.shape[1], stream.dtype)
        if kind not in self._made or self._made[kind][0] != key:
            positions = torch.arange(start, start + stream.shape[1], device=stream.device)
            kinds = () if kind is None else (kind,)
            self._made[kind] = key, self._module(stream, positions[None], *kinds)
        return self._made[kind][1]
