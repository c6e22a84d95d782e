"""Many logistic regressions on one matrix at once, as one product with all their coefficients.

A grid of penalties tried on every fold asks for a hundred fits of the same examples. Accelerated proximal gradient
steps (Beck and Teboulle 2009, restarted as by O'Donoghue and Candes 2015) take them all together, on whatever device
the matrix lies. The objective is scikit-learn's, which the tests compare with; one after the other its solvers take
some fifteen times as long.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

MOST_STEPS = 500
"""Where classes can be told apart and the penalty is weak there is no end to it: stopping early is a penalty too."""

_TOLERANCE = 1e-4
_STEPS_BETWEEN_LOOKS = 20


@dataclass(frozen=True, eq=False)
class Objectives:
    """C times the weighted sum of log(1 + exp(-y (x . b + intercept))), plus |b|_1 or |b|^2 / 2, a column each."""

    weights: Float[Tensor, "examples fits"]  # of every example; 0 leaves it out
    inverse_penalties: Float[Tensor, " fits"]  # C of each
    # whether the penalty is the sum of the absolute coefficients, or half the sum of their squares
    is_l1: Bool[Tensor, " fits"]


@dataclass(frozen=True, eq=False)
class Fits:
    """What was fitted."""

    coefficients: Float[Tensor, "features fits"]  # of the features
    intercepts: Float[Tensor, " fits"]  # not penalized

    def scores(self, features: Float[Tensor, "examples features"]) -> Float[Tensor, "examples fits"]:
        """[examples fits] logits: above 0 is yes."""
        return features @ self.coefficients + self.intercepts


def balanced(labels: Bool[Tensor, " examples"], is_in: Bool[Tensor, "examples fits"]) -> Float[Tensor, "examples fits"]:
    """[examples fits] weights with which both classes weigh half of the examples that are in; 0 for those that are not.

    Both classes have an example in every fit.
    """
    among = is_in.float()
    n_yes = among[labels].sum(0)
    n_all = among.sum(0)
    return among * torch.where(labels[:, None], n_all / (2 * n_yes), n_all / (2 * (n_all - n_yes)))


def fit(
    features: Float[Tensor, "examples features"],
    labels: Bool[Tensor, " examples"],
    objectives: Objectives,
    *,
    most_steps: int = MOST_STEPS,
) -> Fits:
    """Minimize every objective.

    Args:
        features: float32, of about unit spread.
        labels: yes or no.
        objectives: what is minimized.
        most_steps: after which it stops at the latest.
    """
    wide = torch.cat([features, torch.ones_like(features[:, :1])], dim=1)
    signs = torch.where(labels, 1.0, -1.0)[:, None]
    # Divided by C, so that one length of step serves all: the penalty is what differs.
    penalties = 1 / objectives.inverse_penalties
    bound = 0.25 * _largest_eigenvalue(wide, objectives.weights.amax(1))
    steps = 1 / (bound + torch.where(objectives.is_l1, 0.0, penalties))
    is_penalized = torch.ones_like(wide[0])[:, None]
    is_penalized[-1] = 0
    ridge = torch.where(objectives.is_l1, 0.0, penalties) * is_penalized
    lasso = torch.where(objectives.is_l1, penalties * steps, 0.0) * is_penalized

    def slope(at: Tensor) -> Tensor:
        pull = torch.sigmoid(-signs * (wide @ at)).mul_(objectives.weights).mul_(-signs)
        return wide.T @ pull + ridge * at

    weights = torch.zeros(wide.shape[1], len(penalties), device=features.device)
    ahead, momentum = weights, torch.ones_like(penalties)
    least = _TOLERANCE * slope(weights).abs().amax(0)
    for step in range(most_steps):
        moved = ahead - steps * slope(ahead)
        moved = moved.sign() * (moved.abs() - lasso).clamp_min_(0)
        if step % _STEPS_BETWEEN_LOOKS == 0 and bool(((ahead - moved).abs().amax(0) / steps <= least).all()):
            return Fits(moved[:-1], moved[-1])
        # Momentum that leads uphill is dropped.
        is_uphill = ((ahead - moved) * (moved - weights)).sum(0) > 0
        momentum = torch.where(is_uphill, 1.0, momentum)
        following = (1 + (1 + 4 * momentum**2).sqrt()) / 2
        ahead = moved + torch.where(is_uphill, 0.0, (momentum - 1) / following) * (moved - weights)
        weights, momentum = moved, following
    return Fits(weights[:-1], weights[-1])


def _largest_eigenvalue(wide: Float[Tensor, "examples columns"], weights: Float[Tensor, " examples"]) -> float:
    """Of X^T diag(weights) X, in double precision: with weights above all others' it bounds the curvature of all."""
    gram = (wide.T @ (wide * weights[:, None])).double()
    return float(torch.linalg.eigvalsh(gram)[-1]) * (1 + 1e-4)
