"""Multinomial logistic regression on sparse features."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax

MOST_STEPS = 200
_TOLERANCE = 1e-6
"""Of the largest slope, where the objective is the mean over the examples."""


@dataclass(frozen=True, eq=False)
class SoftmaxFit:
    """What was fitted."""

    coefficients: Float[np.ndarray, "features classes"]  # of the features
    intercepts: Float[np.ndarray, " classes"]  # not penalized

    def probabilities(self, features: csr_array) -> Float[np.ndarray, "examples classes"]:
        """[examples classes] of each class, adding up to 1."""
        result: np.ndarray = softmax(features @ self.coefficients + self.intercepts, axis=1)
        return result


def fit_softmax(
    features: csr_array,
    labels: Int[np.ndarray, " examples"],
    *,
    n_classes: int,
    inverse_penalty: float,
    most_steps: int = MOST_STEPS,
) -> SoftmaxFit:
    """Minimize C times the sum of -ln p(label), plus half of the squared coefficients: scikit-learn's objective.

    The steps are L-BFGS from zero, the same at every call.

    Args:
        features: [examples features], float64.
        labels: the class of each example.
        n_classes: how many classes there are.
        inverse_penalty: C.
        most_steps: after which it stops at the latest.
    """
    n_examples, n_features = features.shape
    is_label = np.eye(n_classes)[labels]
    ridge = 1 / (inverse_penalty * n_examples)
    transposed = features.T.tocsr()

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        table = flat.reshape(n_features + 1, n_classes)
        logits = features @ table[:-1] + table[-1]
        loss = -(log_softmax(logits, axis=1) * is_label).sum() / n_examples + ridge / 2 * (table[:-1] ** 2).sum()
        pull = (softmax(logits, axis=1) - is_label) / n_examples
        slope = np.vstack([transposed @ pull + ridge * table[:-1], pull.sum(axis=0)])
        return float(loss), slope.ravel()

    optimum = minimize(
        objective,
        np.zeros((n_features + 1) * n_classes),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": most_steps, "gtol": _TOLERANCE, "ftol": 0.0},
    )
    table = optimum.x.reshape(n_features + 1, n_classes)
    return SoftmaxFit(table[:-1], table[-1])
