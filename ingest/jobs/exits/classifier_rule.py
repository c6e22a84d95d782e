"""Early exit by a classifier per layer: leave where it says that the prediction saturates ([G] 6.2, baselines)."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.jobs.exits.splits import Split
from neurothek.ingest.numerics import logistic_regression
from neurothek.ingest.numerics.logistic_regression import Fits, Objectives

N_FOLDS = 8
INVERSE_PENALTIES = tuple(10.0**power for power in range(-3, 4))

GRID_EXAMPLES = 2_000
"""The penalty is chosen on so many of the examples to fit on, unless too few of them saturate in the layer [ours]."""

LEAST_OF_A_KIND = N_FOLDS
"""Examples of each kind that a classifier needs: one a fold."""


def bytes_needed(n_examples: int, d_model: int) -> int:
    """Memory for one layer's classifier, estimated from above."""
    # The vectors as they are, in double precision, standardized, and as they are fitted on, twice; then what a hundred
    # fits say of each example, and its slopes.
    vectors = 6 * n_examples * d_model * 4
    fits = 8 * min(n_examples, GRID_EXAMPLES) * N_FOLDS * len(INVERSE_PENALTIES) * 2 * 4
    return vectors + fits + 3 * d_model * d_model * 8


@dataclass(frozen=True)
class _Penalty:
    """C, and whether it is the absolute coefficients that are penalized."""

    inverse: float
    is_l1: bool


GRID = tuple(_Penalty(inverse, is_l1) for inverse in INVERSE_PENALTIES for is_l1 in (False, True))


def leaves(
    features: Float[Tensor, "examples d_model"], is_saturated: Bool[np.ndarray, " examples"], split: Split
) -> Bool[np.ndarray, " test"]:
    """[test] whether the layer's classifier says of each example to be tried that it saturates here.

    A layer in which fewer than eight of the examples to fit on saturate is never left, nor one of whose saturations the
    validation split has none; one in which fewer than eight do not saturate is always left.

    Args:
        features: one vector an example.
        is_saturated: whether this layer is the example's saturation layer.
        split: which examples are learned from, and which are tried.
    """
    n_yes = int(is_saturated[split.fit].sum())
    if n_yes < LEAST_OF_A_KIND or not is_saturated[split.validation].any():
        return np.zeros(len(split.test), dtype=bool)
    if len(split.fit) - n_yes < LEAST_OF_A_KIND:
        return np.ones(len(split.test), dtype=bool)
    standard = _standardized(features, split.train)
    labels = torch.from_numpy(is_saturated).to(features.device)
    penalty = _penalty(standard, labels, split.fit)
    fitted = _fit(standard[split.fit], labels[split.fit], penalty)
    scores = fitted.scores(standard[np.concatenate([split.validation, split.test])])[:, 0].cpu().numpy()
    tried, n_validation = is_saturated[split.validation], len(split.validation)
    found: np.ndarray = scores[n_validation:] >= threshold(scores[:n_validation], tried)
    return found


def classifier_exit_layers(by_layer: Bool[np.ndarray, "lower_layers test"]) -> Int[np.ndarray, " test"]:
    """[test] the first layer whose classifier says so; the last layer, which has none, where no other does."""
    last = np.ones_like(by_layer[:1]) if len(by_layer) else np.ones((1, by_layer.shape[1]), dtype=bool)
    found: np.ndarray = np.concatenate([by_layer, last]).argmax(axis=0)
    return found


def threshold(scores: Float[np.ndarray, " examples"], labels: Bool[np.ndarray, " examples"]) -> float:
    """The score from which on a yes has the largest F1, the highest on ties; at least one label is yes."""
    order = np.argsort(-scores, kind="stable")
    ranked, right = scores[order], labels[order].cumsum()
    f1 = 2 * right / (np.arange(1, len(scores) + 1) + labels.sum())
    # Equal scores cannot be told apart: only the last of them is a threshold.
    f1[:-1][ranked[1:] == ranked[:-1]] = -1
    return float(ranked[f1.argmax()])


def _standardized(
    features: Float[Tensor, "examples d_model"], train: Int[np.ndarray, " train"]
) -> Float[Tensor, "examples d_model"]:
    """The features less the training split's mean, over its standard deviation; what does not vary there is 0."""
    among = features[train].double()
    mean, sd = among.mean(0), among.std(0, correction=0)
    scale = torch.where(sd > 0, 1 / sd, 0.0)
    return ((features - mean.float()) * scale.float()).float()


def _penalty(
    standard: Float[Tensor, "examples d_model"], labels: Bool[Tensor, " examples"], fit: Int[np.ndarray, " fit"]
) -> _Penalty:
    """The penalty whose mean F1 over the folds is largest, the stronger one on ties."""
    some = fit[:GRID_EXAMPLES]
    own = labels[some]
    if min(int(own.sum()), int((~own).sum())) < LEAST_OF_A_KIND:
        some, own = fit, labels[fit]
    folds = _folds(own)
    numbers = torch.arange(N_FOLDS, device=own.device).repeat_interleave(len(GRID))
    is_in = folds[:, None] != numbers
    objectives = Objectives(
        logistic_regression.balanced(own, is_in),
        torch.tensor([one.inverse for one in GRID] * N_FOLDS, device=own.device),
        torch.tensor([one.is_l1 for one in GRID] * N_FOLDS, device=own.device),
    )
    says_yes = (logistic_regression.fit(standard[some], own, objectives).scores(standard[some]) > 0) & ~is_in
    n_right = (says_yes & own[:, None]).sum(0)
    f1 = 2 * n_right / (says_yes.sum(0) + (~is_in & own[:, None]).sum(0))
    mean = f1.double().nan_to_num(0).view(N_FOLDS, len(GRID)).mean(0)
    return GRID[int(mean.argmax())]


def _folds(labels: Bool[Tensor, " examples"]) -> Int[Tensor, " examples"]:
    """[examples] a fold for each, both kinds dealt out in turn; the examples are in a random order."""
    number = torch.where(labels, labels.cumsum(0), (~labels).cumsum(0))
    return number % N_FOLDS


def _fit(standard: Float[Tensor, "fit d_model"], labels: Bool[Tensor, " fit"], penalty: _Penalty) -> Fits:
    """One fit on all of these examples."""
    everybody = torch.ones(len(labels), 1, dtype=torch.bool, device=labels.device)
    alone = Objectives(
        logistic_regression.balanced(labels, everybody),
        torch.tensor([penalty.inverse], device=labels.device),
        torch.tensor([penalty.is_l1], device=labels.device),
    )
    return logistic_regression.fit(standard, labels, alone)
