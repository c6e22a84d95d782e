"""Classifiers a layer: planted layers are found, shuffled ones are not, and what cannot be learned is never left."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from neurothek.ingest.jobs.exits.rules import (
    GRID,
    N_FOLDS,
    Split,
    _penalty,
    _standardized,
    bytes_needed,
    classifier_exit_layers,
    leaves,
    threshold,
)
from tests.support import exits as plain

N, D, N_LAYERS = 500, 6, 4
SPLIT = Split.of(N, seed=38)


def planted(seed: int) -> tuple[torch.Tensor, np.ndarray]:
    """[layers examples d] noise, where an example that saturates in a layer is moved along one direction there."""
    draw = np.random.default_rng(seed)
    saturation = draw.integers(0, N_LAYERS, N)
    features = draw.normal(size=(N_LAYERS, N, D))
    for layer in range(N_LAYERS):
        # Six standard deviations: overlap is one example in a thousand.
        features[layer, saturation == layer, layer] += 6
    return torch.from_numpy(features.astype(np.float32)), saturation


def tried(features: torch.Tensor, saturation: np.ndarray) -> np.ndarray:
    return classifier_exit_layers(
        np.stack([leaves(features[layer], saturation == layer, SPLIT) for layer in range(N_LAYERS - 1)])
    )


def test_planted_layers_are_found() -> None:
    features, saturation = planted(1)
    assert (tried(features, saturation) == saturation[SPLIT.test]).mean() > 0.95


def test_shuffled_layers_are_not() -> None:
    features, saturation = planted(2)
    found = tried(features, np.random.default_rng(0).permutation(saturation))
    # 50 tries at a fourth each: a standard deviation of 3, of which this is more than three.
    assert (found == saturation[SPLIT.test]).sum() < 25


def test_fewer_than_eight_saturations_are_never_left_and_fewer_than_eight_others_always() -> None:
    features = torch.randn(N, D, generator=torch.Generator().manual_seed(0))
    few = np.zeros(N, dtype=bool)
    few[SPLIT.fit[:7]] = True
    few[SPLIT.validation[:3]] = True
    assert not leaves(features, few, SPLIT).any()
    assert leaves(features, ~few, SPLIT).all()
    few[SPLIT.fit[7]] = True
    features[few] += 9
    few[SPLIT.test[:2]] = True
    features[SPLIT.test[:2]] += 9
    assert leaves(features, few, SPLIT).tolist() == few[SPLIT.test].tolist()
    # Eight others are enough, and seven are not, though they are as easily told apart.
    assert leaves(features, ~few, SPLIT).tolist() == (~few)[SPLIT.test].tolist()
    few[SPLIT.fit[7]] = False
    assert leaves(features, ~few, SPLIT).all()


def test_without_a_saturation_to_validate_on_nothing_is_left() -> None:
    features, saturation = planted(3)
    own = saturation == 0
    own[SPLIT.validation] = False
    assert not leaves(features[0], own, SPLIT).any()


def test_a_feature_that_never_varies_does_no_harm() -> None:
    features, saturation = planted(4)
    constant = torch.cat([features[0], torch.full((N, 1), 3.0)], dim=1)
    assert leaves(constant, saturation == 0, SPLIT).tolist() == leaves(features[0], saturation == 0, SPLIT).tolist()


def test_threshold_has_the_largest_f1(subtests: pytest.Subtests) -> None:
    for seed in range(20):
        with subtests.test(seed=seed):
            draw = np.random.default_rng(seed)
            # Few distinct scores, so that there are ties.
            scores = draw.integers(0, 12, 40) / 4
            labels = draw.random(40) < 0.3
            labels[0] = True
            best, bound = plain.best_f1(scores.tolist(), labels.tolist())
            found = threshold(scores, labels)
            assert found == bound
            assert f1_score(labels, scores >= found) == pytest.approx(best)


def test_exit_is_the_first_layer_that_says_so() -> None:
    said = np.array([[False, True, False], [True, True, False]])
    assert classifier_exit_layers(said).tolist() == [1, 0, 2]
    assert classifier_exit_layers(np.zeros((0, 3), dtype=bool)).tolist() == [0, 0, 0]


def test_the_grid_is_that_of_the_definition() -> None:
    assert len(GRID) == 14
    assert {one.inverse for one in GRID} == {0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0}
    assert sum(one.is_l1 for one in GRID) == 7


def mean_f1(features: np.ndarray, labels: np.ndarray, *, inverse: float, is_l1: bool) -> float:
    """Over the folds: fitted on seven, a yes where the score is above 0, judged by the eighth."""
    seen = {False: 0, True: 0}
    folds = []
    for label in labels:
        seen[bool(label)] += 1
        folds.append(seen[bool(label)] % N_FOLDS)
    scores = []
    for fold in range(N_FOLDS):
        held = np.array(folds) == fold
        kind = {"solver": "saga", "l1_ratio": 1.0} if is_l1 else {"solver": "lbfgs", "l1_ratio": 0.0}
        fitted = LogisticRegression(C=inverse, class_weight="balanced", max_iter=5_000, tol=1e-6, **kind)
        fitted.fit(features[~held], labels[~held])
        scores.append(f1_score(labels[held], fitted.decision_function(features[held]) > 0, zero_division=0))
    return float(np.mean(scores))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_penalty_has_the_largest_mean_f1_over_the_folds(seed: int) -> None:
    draw = np.random.default_rng(seed)
    labels = draw.random(160) < 0.25
    features = draw.normal(size=(160, 4)).astype(np.float32)
    features[labels, 0] += 1.5
    chosen = _penalty(torch.from_numpy(features), torch.from_numpy(labels), np.arange(160))
    by_penalty = {one: mean_f1(features, labels, inverse=one.inverse, is_l1=one.is_l1) for one in GRID}
    # Where two fits differ in one example, the best two may change places.
    assert by_penalty[chosen] > max(by_penalty.values()) - 0.005


def test_penalty_is_a_weak_one_where_the_kinds_differ_in_a_small_difference_of_large_features() -> None:
    """A strong penalty leaves it unseen; folds overlap, so that none is without a mistake."""
    draw = np.random.default_rng(0)
    labels = draw.random(400) < 0.5
    shared = 3 * draw.normal(size=400)
    features = np.stack([shared + 0.25 * draw.normal(size=400), shared + 0.75 * labels], axis=1).astype(np.float32)
    chosen = _penalty(torch.from_numpy(features), torch.from_numpy(labels), np.arange(400))
    scores = {one: mean_f1(features, labels, inverse=one.inverse, is_l1=one.is_l1) for one in GRID}
    assert max(scores.values()) - scores[GRID[0]] > 0.2
    assert scores[chosen] > max(scores.values()) - 0.005


def test_features_are_standardized_by_the_training_split() -> None:
    draw = np.random.default_rng(7)
    features = draw.normal(loc=[5, -300, 2, 0], scale=[3, 0.5, 0, 1], size=(60, 4)).astype(np.float32)
    train = draw.permutation(60)[:40]
    found = _standardized(torch.from_numpy(features), train).numpy()
    exact = features.astype(np.float64)
    for column in (0, 1, 3):
        among = exact[train, column]
        expected = (exact[:, column] - among.mean()) / among.std()
        # float32 has 24 bits, of which 300 standard deviations of offset take ten.
        assert found[:, column] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert (found[:, 2] == 0).all()


@pytest.mark.parametrize(("n_examples", "on_grid"), [(500, 500), (5_000, 2_000)])
def test_memory_of_a_classifier(n_examples: int, on_grid: int) -> None:
    # Six copies of vectors of 10 numbers of 4 bytes; 8 pairs of numbers for each of 8 * 14 fits, of 4 bytes, of at most
    # 2,000 examples; and three matrices of 10 x 10 numbers of 8 bytes.
    assert bytes_needed(n_examples, 10) == 6 * n_examples * 40 + 8 * 112 * 4 * on_grid + 2_400
