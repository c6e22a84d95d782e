"""When a coefficient counts as active ([V] 3; beyond ReLU ours)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ingest.architectures import Shape


@dataclass(frozen=True)
class ActivationRule:
    """m != 0 where the non-linearity has exact zeros, else m > threshold.

    Attributes:
        threshold: active above this; None: active where not exactly zero.
    """

    threshold: float | None

    @classmethod
    def of(cls, shape: Shape, *, active_above: float | None = None) -> "ActivationRule":
        """The rule of an architecture, or the one a person asked for."""
        if active_above is not None:
            return cls(active_above)
        return cls(None if shape.has_exact_zeros else 0.0)

    def __str__(self) -> str:
        return "m != 0" if self.threshold is None else f"m > {self.threshold:g}"

    def mark_(self, active: Float[Tensor, "*shape"], coefficients: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """[*shape] write 1 into `active` where a coefficient is active, else 0, and return it."""
        if self.threshold is None:
            return torch.ne(coefficients, 0, out=active)
        return torch.gt(coefficients, self.threshold, out=active)

    def active(self, coefficients: Float[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
        """[*shape] whether each coefficient is active."""
        return coefficients != 0 if self.threshold is None else coefficients > self.threshold
