"""Multinomial logistic regression against scikit-learn's, and against its own definition."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from neurothek.ingest.numerics.softmax_regression import SoftmaxFit, fit_softmax

N, D, CLASSES = 240, 9, 4


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    """Classes that overlap and are not equally frequent; a third of the entries are zero."""
    draw = np.random.default_rng(5)
    features = draw.normal(size=(N, D)) * (draw.random((N, D)) > 1 / 3)
    logits = features @ draw.normal(size=(D, CLASSES)) + [0, 1, -1, 0.5]
    return features, (logits + draw.gumbel(size=(N, CLASSES))).argmax(axis=1)


@pytest.mark.parametrize("inverse_penalty", [0.01, 1.0, 100.0])
def test_coefficients_are_scikit_learns(data: tuple[np.ndarray, np.ndarray], inverse_penalty: float) -> None:
    features, labels = data
    found = fit_softmax(csr_array(features), labels, n_classes=CLASSES, inverse_penalty=inverse_penalty)
    peer = LogisticRegression(C=inverse_penalty, solver="newton-cg", tol=1e-10, max_iter=1_000).fit(features, labels)
    # Slopes end at 1e-5 and the mean loss is curved by 1e-2 or more in every direction but that of all intercepts.
    np.testing.assert_allclose(found.coefficients, peer.coef_.T, atol=2e-3)
    own, others = found.intercepts, peer.intercept_
    np.testing.assert_allclose(own - own.mean(), others - others.mean(), atol=2e-3)
    np.testing.assert_allclose(found.probabilities(csr_array(features)), peer.predict_proba(features), atol=1e-3)


def test_probabilities_are_exponentials_over_their_sum() -> None:
    fit = SoftmaxFit(np.array([[1.0, -1.0], [0.5, 2.0]]), np.array([0.0, 3.0]))
    features = csr_array(np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 1.0]]))
    scores = np.exp([[2.0, 1.0], [0.0, 3.0], [0.5, 5.0]])
    np.testing.assert_allclose(fit.probabilities(features), scores / scores.sum(axis=1, keepdims=True), rtol=1e-12)
    assert fit.probabilities(csr_array(np.array([[1e4, 1e4]]))).sum() == 1


def test_a_fit_is_the_same_each_time_and_stops(data: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = csr_array(data[0]), data[1]
    first, second = (fit_softmax(features, labels, n_classes=CLASSES, inverse_penalty=1.0) for _ in range(2))
    assert np.array_equal(first.coefficients, second.coefficients)
    # Almost no steps leave it almost at zero.
    short = fit_softmax(features, labels, n_classes=CLASSES, inverse_penalty=1.0, most_steps=1)
    assert np.abs(short.coefficients).max() < np.abs(first.coefficients).max()


def test_a_class_without_examples_has_no_probability(data: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = csr_array(data[0]), data[1]
    found = fit_softmax(features, labels, n_classes=CLASSES + 1, inverse_penalty=1.0)
    assert found.probabilities(features)[:, CLASSES].max() < 0.01
