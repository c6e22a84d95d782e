"""Many logistic regressions at once against scikit-learn's one after another."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from neurothek.ingest.numerics.logistic_regression import Objectives, balanced, fit

N, D = 300, 12
INVERSES = (0.01, 0.1, 1.0, 10.0)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping classes, one of them rare; features that hang together and are of unit spread."""
    draw = np.random.default_rng(3)
    features = draw.normal(size=(N, D)) @ (np.eye(D) + 0.2 * draw.normal(size=(D, D)))
    features = (features - features.mean(0)) / features.std(0)
    logits = features[:, 0] - 2 * features[:, 3] + 0.5 * features[:, 7] - 1.5
    return features.astype(np.float32), draw.random(N) < 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize("is_l1", [False, True])
def test_coefficients_are_scikit_learns(data: tuple[np.ndarray, np.ndarray], is_l1: bool) -> None:
    features, labels = data
    draw = np.random.default_rng(4)
    is_in = draw.random((N, len(INVERSES))) < 0.8
    objectives = Objectives(
        balanced(torch.from_numpy(labels), torch.from_numpy(is_in)),
        torch.tensor(INVERSES),
        torch.full((len(INVERSES),), is_l1),
    )
    found = fit(torch.from_numpy(features), torch.from_numpy(labels), objectives, most_steps=5_000)
    for number, inverse in enumerate(INVERSES):
        some = is_in[:, number]
        peer = LogisticRegression(
            C=inverse, l1_ratio=float(is_l1), class_weight="balanced", solver="saga", tol=1e-8, max_iter=100_000
        ).fit(features[some].astype(np.float64), labels[some])
        # The slope ends at 1e-4 of what it is at 0, some 80, and no direction here is curved by less than 1.75.
        np.testing.assert_allclose(found.coefficients[:, number].numpy(), peer.coef_[0], atol=5e-3)
        if peer.coef_.any():
            # Where nothing is left the peer stops before its intercept is balanced.
            assert found.intercepts[number].item() == pytest.approx(peer.intercept_[0], abs=5e-3)


def test_a_strong_absolute_penalty_leaves_nothing(data: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = (torch.from_numpy(part) for part in data)
    everybody = torch.ones(N, 1, dtype=torch.bool)
    found = fit(features, labels, Objectives(balanced(labels, everybody), torch.tensor([1e-4]), torch.tensor([True])))
    assert not found.coefficients.any()
    # Balanced classes are even where nothing tells them apart.
    assert found.intercepts.item() == pytest.approx(0, abs=1e-3)


def test_examples_that_are_left_out_change_nothing(data: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = (torch.from_numpy(part) for part in data)
    some = torch.zeros(N, 1, dtype=torch.bool)
    some[: N // 2] = True
    grid = (torch.tensor([1.0]), torch.tensor([False]))
    whole = fit(features, labels, Objectives(balanced(labels, some), *grid), most_steps=2_000)
    half = features[: N // 2], labels[: N // 2]
    alone = fit(*half, Objectives(balanced(half[1], some[: N // 2]), *grid), most_steps=2_000)
    # Both end within the tolerance of the gradient, from steps of another length.
    torch.testing.assert_close(whole.coefficients, alone.coefficients, atol=1e-3, rtol=0)


def test_balanced_classes_weigh_the_same() -> None:
    labels = torch.tensor([True, False, False, False])
    found = balanced(labels, torch.tensor([[True, True], [True, True], [True, False], [True, False]]))
    assert found.tolist() == pytest.approx(np.array([[2, 1], [2 / 3, 1], [2 / 3, 0], [2 / 3, 0]]))


def test_fits_stop_where_classes_can_be_told_apart() -> None:
    """Without end the coefficients would grow for ever; the labels come out right all the same."""
    draw = np.random.default_rng(1)
    features = draw.normal(size=(80, 3)).astype(np.float32)
    labels = features[:, 1] > 0.1
    everybody = torch.ones(80, 1, dtype=torch.bool)
    own = torch.from_numpy(labels)
    found = fit(
        torch.from_numpy(features), own, Objectives(balanced(own, everybody), torch.tensor([1e3]), torch.tensor([True]))
    )
    said = found.scores(torch.from_numpy(features))[:, 0].numpy() > 0
    assert (said == labels).mean() > 0.97


def test_a_fit_ends_by_itself_and_soon() -> None:
    """Features that hang together make a narrow valley, in which momentum has to be dropped where it leads uphill."""
    draw = np.random.default_rng(3)
    mixed = draw.normal(size=(N, D)) @ (np.eye(D) + 0.6 * draw.normal(size=(D, D)))
    features = torch.from_numpy(((mixed - mixed.mean(0)) / mixed.std(0)).astype(np.float32))
    labels = torch.from_numpy(draw.random(N) < 1 / (1 + np.exp(-mixed[:, 0])))
    everybody = torch.ones(N, 1, dtype=torch.bool)
    objectives = Objectives(balanced(labels, everybody), torch.tensor([10.0]), torch.tensor([False]))
    ended = fit(features, labels, objectives, most_steps=10**9)
    # It takes 180 steps, and 280 where momentum is dropped at other times.
    assert torch.equal(fit(features, labels, objectives, most_steps=240).coefficients, ended.coefficients)
