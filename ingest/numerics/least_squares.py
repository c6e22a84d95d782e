"""Linear maps between two sets of states by least squares without an intercept, and how well they predict ([D] 3).

A source state is decomposed once, whatever number of targets there is: X = U R, in double precision. The columns of U
are orthonormal, so that a product with them loses nothing to the condition of X: single precision serves for every r^2.
Only a matrix that is kept goes back to the coordinates of X, which multiplies an error by the condition; there the
product is taken in double precision where the condition asks for it.

R is triangular, from X^T X, where that is exact enough; else it is S V^T of the singular values that single precision
can tell from 0.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

GRAM_CONDITION = 1e4
"""Up to this condition X is decomposed by X^T X: squared and times double precision's 1e-16, it stays below 1e-7."""

SINGLE_CONDITION = 1e3
"""Up to this condition a matrix whose product is taken in single precision is right to about 1e-5 of its size."""

LEAST_SINGULAR = 2.0**-23
"""Singular values below this share of the largest are rounding of states that are float32, and count as 0."""


@dataclass(frozen=True, eq=False)
class Basis:
    """The states of a source, decomposed."""

    states: Float[Tensor, "states d_model"]  # [states d_model] float32, X
    columns: Float[Tensor, "states rank"]  # [states rank] orthonormal, float32: U
    back: Float[Tensor, "d_model rank"]  # [d_model rank] float64, R^-1 or V S^-1: X back = U
    condition: float | None  # the largest over the smallest singular value that counts; None where none does

    @classmethod
    def of(cls, states: Float[Tensor, "states d_model"]) -> "Basis":
        """Decompose states, in double precision."""
        wide = states.double()
        back, condition = _by_gram(wide) or _by_singular_values(wide)
        return cls(states, (wide @ back).float(), back, condition)

    @property
    def rank(self) -> int:
        """How many directions the states have."""
        return self.columns.shape[1]

    @property
    def is_single_enough(self) -> bool:
        """Whether a matrix that is kept may be computed in single precision."""
        return self.condition is None or self.condition <= SINGLE_CONDITION

    def coefficients(self, targets: Float[Tensor, "states d_target"]) -> Float[Tensor, "rank d_target"]:
        """[rank d_target] float32, the targets in the basis: U^T Y."""
        return self.columns.T @ targets

    def of_others(self, states: Float[Tensor, "others d_model"]) -> Float[Tensor, "others rank"]:
        """[others rank] float32, other states in the basis: these times the coefficients are the predictions."""
        return (states.double() @ self.back).float()

    def matrix(
        self,
        targets: Float[Tensor, "states d_target"],
        coefficients: Float[Tensor, "rank d_target"] | None = None,
    ) -> Float[Tensor, "d_target d_model"]:
        """[d_target d_model] float32, the A of least norm that makes |Y - X A^T| least: a state h becomes A h.

        Args:
            targets: Y.
            coefficients: theirs in the basis, where they are known.
        """
        if self.is_single_enough:
            solution = (self.coefficients(targets) if coefficients is None else coefficients).double()
        else:
            solution = self.back.T @ (self.states.double().T @ targets.double())
        return (self.back @ solution).T.float().contiguous()


def spread(targets: Float[Tensor, "states d_target"]) -> Float[Tensor, " d_target"]:
    """[d_target] float64, squared distances from each coordinate's mean; exactly 0 where it never changes."""
    wide = targets.double()
    total = (wide - wide.mean(0)).square_().sum(0)
    return total.masked_fill_(targets.amin(0) == targets.amax(0), 0.0)


def r2(
    targets: Float[Tensor, "states d_target"],
    predicted: Float[Tensor, "states d_target"],
    *,
    total: Float[Tensor, " d_target"],
) -> float:
    """Coefficient of determination of each coordinate, averaged uniformly.

    A coordinate that never changes has 1 where it is predicted exactly and 0 elsewhere, as scikit-learn has it.

    Args:
        targets: what is to be predicted, float32.
        predicted: the predictions.
        total: the spread of the targets.
    """
    # Differences in single precision are as exact as the states.
    residual = _sums(torch.sub(targets, predicted).square_())
    is_constant = total == 0
    shares = 1 - residual / total.masked_fill(is_constant, 1.0)
    return float(torch.where(is_constant, (residual == 0).double(), shares).mean())


_AT_ONCE = 8
"""Squares that are added up in single precision: that takes 3e-7 from their sum at most, and a third of the time."""


def _sums(squares: Float[Tensor, "states d_target"]) -> Float[Tensor, " d_target"]:
    """[d_target] float64."""
    whole = len(squares) - len(squares) % _AT_ONCE
    partial = squares[:whole].view(-1, _AT_ONCE, squares.shape[1]).sum(1)
    return partial.sum(0, dtype=torch.float64) + squares[whole:].sum(0, dtype=torch.float64)


def _by_gram(wide: Float[Tensor, "states d_model"]) -> tuple[Float[Tensor, "d_model rank"], float] | None:
    """R^-1 and the condition, from X^T X; None where there are too few states or the condition is too large for it."""
    if len(wide) < wide.shape[1]:
        return None
    squared = wide.T @ wide
    values = torch.linalg.eigvalsh(squared)
    least, largest = float(values[0]), float(values[-1])
    if not least * GRAM_CONDITION**2 > largest:
        return None
    lower = torch.linalg.cholesky(squared)
    one = torch.eye(len(lower), dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower.T, one, upper=True), math.sqrt(largest / least)


def _by_singular_values(
    wide: Float[Tensor, "states d_model"],
) -> tuple[Float[Tensor, "d_model rank"], float | None]:
    """V S^-1 of the singular values that count, and their condition, None where there are none."""
    _, values, transposed = torch.linalg.svd(wide, full_matrices=False)
    counted = values[values > LEAST_SINGULAR * values[0]]
    condition = float(counted[0] / counted[-1]) if len(counted) else None
    return transposed[: len(counted)].T / counted, condition
