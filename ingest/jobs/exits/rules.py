"""Rules that leave a model early, by classifiers, clusters or confidence, and what each costs ([G] 6.2, [D] 5)."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse
from torch import Tensor

from neurothek.ingest.numerics import logistic_regression
from neurothek.ingest.numerics.logistic_regression import Fits, Objectives
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

SEEDS = (38, 39, 40, 41, 42)
"""Splits that every rule is tried on [code]."""

LEAST_EXAMPLES = 10
"""Fewer have no tenth."""

_ONE_IN = 10


@dataclass(frozen=True, eq=False)
class Split:
    """Examples by their places, none in two of the parts."""

    fit: Int[np.ndarray, " fit"]  # what is fitted on
    # what thresholds are chosen on, a tenth of all [ours]; rules without a threshold learn from it too
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]  # what the rule is tried on, a tenth of all

    @property
    def train(self) -> Int[np.ndarray, " train"]:
        """[train] all but what the rule is tried on."""
        return np.concatenate([self.fit, self.validation])

    @classmethod
    def of(cls, n: int, *, seed: int) -> "Split":
        """Split `n` examples, the same way for whoever asks with this seed."""
        order = random_stream(seed, Purpose.EXIT_SPLIT).permutation(n)
        tenth = n // _ONE_IN
        return cls(fit=order[2 * tenth :], validation=order[tenth : 2 * tenth], test=order[:tenth])


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
    result: np.ndarray = scores[n_validation:] >= threshold(scores[:n_validation], tried)
    return result


def classifier_exit_layers(by_layer: Bool[np.ndarray, "lower_layers test"]) -> Int[np.ndarray, " test"]:
    """[test] the first layer whose classifier says so; the last layer, which has none, where no other does."""
    last = np.ones_like(by_layer[:1]) if len(by_layer) else np.ones((1, by_layer.shape[1]), dtype=bool)
    layers: np.ndarray = np.concatenate([by_layer, last]).argmax(axis=0)
    return layers


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
    rows = fit[:GRID_EXAMPLES]
    targets = labels[rows]
    if min(int(targets.sum()), int((~targets).sum())) < LEAST_OF_A_KIND:
        rows, targets = fit, labels[fit]
    folds = _folds(targets)
    numbers = torch.arange(N_FOLDS, device=targets.device).repeat_interleave(len(GRID))
    is_in = folds[:, None] != numbers
    objectives = Objectives(
        logistic_regression.balanced(targets, is_in),
        torch.tensor([one.inverse for one in GRID] * N_FOLDS, device=targets.device),
        torch.tensor([one.is_l1 for one in GRID] * N_FOLDS, device=targets.device),
    )
    says_yes = (logistic_regression.fit(standard[rows], targets, objectives).scores(standard[rows]) > 0) & ~is_in
    n_right = (says_yes & targets[:, None]).sum(0)
    f1 = 2 * n_right / (says_yes.sum(0) + (~is_in & targets[:, None]).sum(0))
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


NEVER = 1.112
"""0.9 times that is above 1, which no difference of two probabilities is; minus that is below 0, which none is."""

LAMBDAS = (-NEVER, *(step / 10 for step in range(11)), NEVER)

FINE_LAMBDAS = (*LAMBDAS[:-1], *(round(1 + 0.0112 * step, 4) for step in range(1, 10)), NEVER)
"""For states as they are, whose probabilities crowd at 1."""


def exit_states(
    margins: Float[np.ndarray, "sentences states"], own_positions: Int[np.ndarray, " sentences"], *, strictness: float
) -> Int[np.ndarray, " sentences"]:
    """[sentences] the state s >= 1 at which each sentence is left, the last one where no other is sure enough.

    It is the first whose largest probability is more than 0.9 lambda + 0.1 exp(-4 i / N) above the second, i the
    position among the sentence's own tokens and N the mean of i + 1 over the sentences.

    Args:
        margins: the difference of the two largest probabilities, from each state 0 .. n_layers.
        own_positions: i.
        strictness: lambda.
    """
    mean_length = float((own_positions + 1).mean())
    thresholds = 0.9 * strictness + 0.1 * np.exp(-4 * own_positions / mean_length)
    is_sure = margins > thresholds[:, None]
    is_sure[:, 0], is_sure[:, -1] = False, True
    states: Int[np.ndarray, " sentences"] = is_sure.argmax(axis=1)
    return states


Similarity = Literal["ranks", "sets"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)

NOBODY = -1
"""Where a layer has fewer neurons than are dominant, the last places of a list."""

# Similarities of so many examples to all others exist at once: to 9,000 others they are 5 MB.
_EXAMPLES_AT_ONCE = 256

Tried = Int[np.ndarray, "tried places"]
Learned = Int[np.ndarray, "learned places"]


def cluster_exit_layers(
    lists: Int[np.ndarray, "n_layers examples places"],
    saturation: Int[np.ndarray, " examples"],
    split: Split,
    *,
    similarity: Similarity = "ranks",
) -> Int[np.ndarray, " test"]:
    """[test] the layer after which each example to be tried is left, the last one where the rule never says so.

    An example is left after the first layer l at which both the largest and the mean similarity of its list to those of
    examples saturating at l beat, strictly, the same to those saturating at j, for every j > l that has any.

    Args:
        lists: cluster ids of the dominant neurons of each layer, by contribution.
        saturation: where each example saturates.
        split: which examples are learned from, and which are tried.
        similarity: ranks: places with the same id [code]; sets: ids in both lists [G].
    """
    last = len(lists) - 1
    layers = np.full(len(split.test), last, dtype=np.int64)
    waiting = np.arange(len(split.test))
    # By saturation layer, so that each layer's examples lie together.
    learned = split.train[np.argsort(saturation[split.train], kind="stable")]
    for layer in range(last):
        candidates = learned[saturation[learned] >= layer]
        if len(candidates) == 0 or saturation[candidates[0]] != layer:
            continue
        tried = lists[layer, split.test[waiting]]
        leaves = _leaves(tried, lists[layer, candidates], saturation[candidates], similarity)
        layers[waiting[leaves]] = layer
        waiting = waiting[~leaves]
    return layers


def _leaves(
    tried: Tried, learned: Learned, saturation: Int[np.ndarray, " learned"], similarity: Similarity
) -> Bool[np.ndarray, " tried"]:
    """Whether each list is more like those of the first saturation layer than like those of every later one."""
    starts = np.flatnonzero(np.diff(saturation, prepend=saturation[0] - 1))
    sizes = np.diff(starts, append=len(saturation))
    n_ids = 1 + max(int(tried.max(initial=0)), int(learned.max()))
    theirs = _members(learned, n_ids, similarity).T
    result = np.empty(len(tried), dtype=bool)
    for start in range(0, len(tried), _EXAMPLES_AT_ONCE):
        part = slice(start, start + _EXAMPLES_AT_ONCE)
        similarities = (_members(tried[part], n_ids, similarity) @ theirs).toarray()
        largest = np.maximum.reduceat(similarities, starts, axis=1)
        # Sums are whole numbers, so that equal means are equal quotients.
        means = np.add.reduceat(similarities, starts, axis=1, dtype=np.int64) / sizes
        beaten = (largest[:, :1] > largest[:, 1:]) & (means[:, :1] > means[:, 1:])
        result[part] = beaten.all(axis=1)
    return result


def _members(lists: Int[np.ndarray, "lists places"], n_ids: int, similarity: Similarity) -> sparse.csr_array:
    """[lists members] 1 for each member of a list, so that products count what two lists share.

    Members are ids, once however often they stand there, or pairs of a place and its id.
    """
    rows, places = np.nonzero(lists != NOBODY)
    ids = lists[rows, places].astype(np.int64)
    if similarity == "ranks":
        ids += places * n_ids
    members = sparse.csr_array((np.ones(len(rows), np.int16), (rows, ids)), (len(lists), n_ids * lists.shape[1]))
    members.data[:] = 1
    return members


@dataclass(frozen=True)
class ExitOutcome:
    """How one way of leaving did on some examples.

    Attributes:
        n: examples.
        n_correct: those whose prediction at the exit is the model's own.
        n_exited: those that left before the last layer.
        accuracy: n_correct / n.
        layers_run: mean number of layers that ran.
        layers_run_sd: its standard deviation over the examples (sample); None for a single one.
        layers_saved: mean number of layers that did not run [code].
        layers_saved_correct: the same over the correct ones [G]; None where none is.
    """

    n: int
    n_correct: int
    n_exited: int
    accuracy: float
    layers_run: float
    layers_run_sd: float | None
    layers_saved: float
    layers_saved_correct: float | None


def outcome(
    layers_run: Int[np.ndarray, " examples"], is_correct: Bool[np.ndarray, " examples"], *, n_layers: int
) -> ExitOutcome:
    """Sum up; there is at least one example."""
    saved, n = n_layers - layers_run, len(layers_run)
    return ExitOutcome(
        n=n,
        n_correct=int(is_correct.sum()),
        n_exited=int((saved > 0).sum()),
        accuracy=float(is_correct.mean()),
        layers_run=float(layers_run.mean()),
        layers_run_sd=float(layers_run.std(ddof=1)) if n > 1 else None,
        layers_saved=float(saved.mean()),
        layers_saved_correct=float(saved[is_correct].mean()) if is_correct.any() else None,
    )
