"""Linear maps between two sets of states by least squares without an intercept, and how well they predict ([D] 3).

A source state is decomposed once, whatever number of targets there is: X = U S V^T, with the singular values that
single precision can tell from 0. The columns of U are orthonormal, so that a product with them loses nothing to the
condition of X: single precision serves for every r^2. Only a matrix that is kept goes back to the coordinates of X,
which multiplies an error by the condition; there the product is taken in double precision where the condition asks
for it.
"""

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
    """The states of a source, decomposed.

    Attributes:
        states: [states d_model] float32, X.
        columns: [states rank] orthonormal, float32: U.
        back: [d_model rank] float64, V S^-1: X back = U.
        condition: the largest over the smallest singular value that counts; None where none does.
    """

    states: Float[Tensor, "states d_model"]
    columns: Float[Tensor, "states rank"]
    back: Float[Tensor, "d_model rank"]
    condition: float | None

    @classmethod
    def of(cls, states: Float[Tensor, "states d_model"]) -> "Basis":
        """Decompose states, in double precision."""
        wide = states.double()
        back = _by_gram(wide) if len(wide) >= wide.shape[1] else None
        if back is None:
            back = _by_singular_values(wide)
        # The lengths of the columns of V S^-1 are the inverse singular values.
        lengths = torch.linalg.vector_norm(back, dim=0)
        condition = float(lengths.max() / lengths.min()) if back.shape[1] else None
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

    def matrix(self, targets: Float[Tensor, "states d_target"]) -> Float[Tensor, "d_target d_model"]:
        """[d_target d_model] float32, the A of least norm that makes |Y - X A^T| least: a state h becomes A h."""
        if self.is_single_enough:
            found = self.coefficients(targets).double()
        else:
            found = self.back.T @ (self.states.double().T @ targets.double())
        return (self.back @ found).T.float().contiguous()


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
    # Differences in single precision are as exact as the states; their squares are added up in double.
    residual = torch.sub(targets, predicted).square_().sum(0, dtype=torch.float64)
    is_constant = total == 0
    found = 1 - residual / total.masked_fill(is_constant, 1.0)
    return float(torch.where(is_constant, (residual == 0).double(), found).mean())


def _by_gram(wide: Float[Tensor, "states d_model"]) -> Float[Tensor, "d_model rank"] | None:
    """V S^-1 from X^T X; None where the condition is too large for it."""
    values, vectors = torch.linalg.eigh(wide.T @ wide)
    least, largest = float(values[0]), float(values[-1])
    if not least * GRAM_CONDITION**2 > largest:
        return None
    back: Tensor = vectors / values.sqrt()
    return back


def _by_singular_values(wide: Float[Tensor, "states d_model"]) -> Float[Tensor, "d_model rank"]:
    """V S^-1 of the singular values that count."""
    _, values, transposed = torch.linalg.svd(wide, full_matrices=False)
    counts = values > LEAST_SINGULAR * values[0]
    back: Tensor = transposed[counts].T / values[counts]
    return back
