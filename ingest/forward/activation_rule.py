"""When a neuron counts as active, and when strongly so ([V] 3; beyond ReLU ours)."""

import re
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from neurothek.catalog.tables.poles import STRONG
from neurothek.ingest.models.transformer import Shape


@dataclass(frozen=True)
class ActivationRule:
    """m != 0 where the non-linearity has exact zeros, else m > threshold; in a gated FFN gate > 0.

    Without exact zeros a third to a half of all coefficients count as active so. N-grams and positions therefore count
    strong ones, of |m| > 3 r with r the neuron's root mean square, at the pole at which it is strongest.
    """

    threshold: float | None  # active above this; None: active where not exactly zero
    # whether the gate's pre-activation is held against the threshold instead of the coefficient
    is_of_gate: bool = False
    is_relative: bool = False  # whether the threshold is in units of the neuron's root mean square
    is_negative: bool = False  # whether negated coefficients are asked about
    # of each neuron of a layer what the threshold comes to; None where that is the same for all
    bounds: Float[Tensor, " d_ffn"] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, shape: Shape, *, active_above: float | None = None, strong: bool = False) -> "ActivationRule":
        """The rule of an architecture, or the one a person asked for, which is one of coefficients.

        Args:
            shape: the architecture.
            active_above: what a person asked for.
            strong: whether only strong coefficients count where there are no exact zeros.
        """
        if active_above is not None:
            return cls(active_above)
        if strong and not shape.has_exact_zeros:
            return cls(STRONG, is_relative=True)
        if shape.is_gated:
            return cls(0.0, is_of_gate=True)
        return cls(None if shape.has_exact_zeros else 0.0)

    def __str__(self) -> str:
        if self.is_relative:
            return f"|m| > {self.threshold:g} rms at its pole"
        return "m != 0" if self.threshold is None else f"{'gate' if self.is_of_gate else 'm'} > {self.threshold:g}"

    def decisive(
        self, coefficients: Float[Tensor, "*shape"], gates: Float[Tensor, "*shape"] | None
    ) -> Float[Tensor, "*shape"]:
        """[*shape] what `mark_` and `active` are to be asked about: the coefficients, or the gates."""
        if not self.is_of_gate:
            return -coefficients if self.is_negative else coefficients
        assert gates is not None
        return gates

    def mark_(self, active: Float[Tensor, "*shape"], decisive: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """[*shape] write 1 into `active` where a neuron is active, else 0, and return it."""
        if self.threshold is None:
            return torch.ne(decisive, 0, out=active)
        return torch.gt(decisive, self.threshold if self.bounds is None else self.bounds, out=active)

    def active(
        self, decisive: Float[Tensor, "*shape"], *, out: Bool[Tensor, "*shape"] | None = None
    ) -> Bool[Tensor, "*shape"]:
        """[*shape] whether each neuron is active; written into `out` if it is given."""
        return exceeds(decisive, self.threshold if self.bounds is None else self.bounds, out=out)

    def poles(self, bounds: Float[Tensor, " d_ffn"], *, both: bool) -> tuple["ActivationRule", ...]:
        """A relative rule for the neurons of a layer: of coefficients above 0 and, where `both` occur, of those below.

        Args:
            bounds: [d_ffn] what the threshold comes to.
            both: whether coefficients have either sign.
        """
        positive = replace(self, bounds=bounds)
        return (positive, replace(positive, is_negative=True)) if both else (positive,)


def bound_of(rule: str) -> float | None:
    """What a rule that was written down holds coefficients against; None where it does something else."""
    match = re.fullmatch(r"m > (.+)", rule)
    return float(match[1]) if match else None


def exceeds(
    values: Float[Tensor, "*shape"],
    threshold: float | Float[Tensor, " last"] | None,
    *,
    out: Bool[Tensor, "*shape"] | None = None,
) -> Bool[Tensor, "*shape"]:
    """[*shape] whether values lie above the threshold, or without one whether they are not exactly zero."""
    result = torch.empty(values.shape, dtype=torch.bool, device=values.device) if out is None else out
    if values.device.type != "cpu" or values.dtype != torch.float32:
        return torch.ne(values, 0, out=result) if threshold is None else torch.gt(values, threshold, out=result)
    # NumPy writes comparisons to booleans fifteen times faster (torch 2.13, AVX-512).
    if threshold is None:
        np.not_equal(values.numpy(), 0, out=result.numpy())
    else:
        bound = threshold.numpy() if isinstance(threshold, Tensor) else np.float32(threshold)
        np.greater(values.numpy(), bound, out=result.numpy())
    return result
