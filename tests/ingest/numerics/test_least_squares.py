"""Least-squares maps against scikit-learn and numpy, what they find of planted ones, and what they find in noise."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from neurothek.ingest.numerics.least_squares import GRAM_CONDITION, SINGLE_CONDITION, Basis, r2, spread

Floats = NDArray[np.float32]

N_FIT, N_VALIDATION, WIDTH = 300, 120, 24

# Both solve in at least 24 bits, and a condition of 2 doubles an error: some hundred roundings of 6e-8 at most.
WELL_CONDITIONED = 2e-5


def draw(n: int, width: int = WIDTH, *, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)


def with_condition(condition: float, n: int, *, seed: int = 0) -> Floats:
    """States whose singular values fall evenly over a range of this width."""
    left, _ = np.linalg.qr(draw(n, seed=seed).astype(np.float64))
    right, _ = np.linalg.qr(draw(WIDTH, seed=seed + 1).astype(np.float64))
    found: Floats = (left * np.geomspace(condition, 1, WIDTH) @ right).astype(np.float32)
    return found


def noisy(states: Floats, *, seed: int) -> Floats:
    """Targets that hang on the states, and on chance."""
    width = states.shape[1]
    found: Floats = states @ draw(width, width, seed=seed) / np.float32(width**0.5) + draw(*states.shape, seed=seed + 1)
    return found


def tensors(*arrays: Floats) -> list[torch.Tensor]:
    return [torch.from_numpy(array) for array in arrays]


def r2_of(fit: Floats, fit_targets: Floats, validation: Floats, validation_targets: Floats) -> float:
    """As the job takes it: by the basis, without the matrix."""
    x, y, x_other, y_other = tensors(fit, fit_targets, validation, validation_targets)
    basis = Basis.of(x)
    return r2(y_other, basis.of_others(x_other) @ basis.coefficients(y), total=spread(y_other))


@pytest.mark.parametrize("seed", range(3))
def test_a_map_is_that_of_scikit_learn(seed: int) -> None:
    x, x_other = draw(N_FIT, seed=seed), draw(N_VALIDATION, seed=seed + 50)
    y, y_other = noisy(x, seed=seed + 10), noisy(x_other, seed=seed + 10)
    theirs = LinearRegression(fit_intercept=False).fit(x.astype(np.float64), y.astype(np.float64))
    ours = Basis.of(torch.from_numpy(x)).matrix(torch.from_numpy(y)).numpy()
    np.testing.assert_allclose(ours, theirs.coef_, rtol=0, atol=WELL_CONDITIONED)
    found = r2_of(x, y, x_other, y_other)
    assert found == pytest.approx(r2_score(y_other, theirs.predict(x_other)), abs=WELL_CONDITIONED)
    assert 0.2 < found < 0.8


def test_r2_is_that_of_scikit_learn_even_of_coordinates_that_never_change() -> None:
    targets, predicted = draw(N_VALIDATION), draw(N_VALIDATION, seed=1)
    # 0.1 is no sum of powers of two: the mean of many of them is not 0.1, and yet nothing changes there.
    targets[:, 3] = predicted[:, 3] = 0.1
    targets[:, 7], predicted[:, 7] = 0.5, 0.75
    targets[:, 9], predicted[:, 9] = 2.0, 2.0
    ours = r2(torch.from_numpy(targets), torch.from_numpy(predicted), total=spread(torch.from_numpy(targets)))
    exact = np.delete(targets, 3, axis=1), np.delete(predicted, 3, axis=1)
    theirs = (r2_score(*exact) * (WIDTH - 1) + 1) / WIDTH
    assert ours == pytest.approx(theirs, abs=1e-6)
    by_hand = []
    for column in range(WIDTH):
        y, guess = targets[:, column].astype(np.float64), predicted[:, column].astype(np.float64)
        if y.max() == y.min():
            by_hand.append(1.0 if (y == guess).all() else 0.0)
            continue
        by_hand.append(1 - sum((y - guess) ** 2) / sum((y - y.mean()) ** 2))
    assert ours == pytest.approx(float(np.mean(by_hand)), abs=1e-6)


def test_the_condition_is_measured_and_costs_r2_nothing(subtests: pytest.Subtests) -> None:
    for condition in [2.0, 3e2, 3e3, 3e4, 1e6]:
        with subtests.test(condition=condition):
            x, x_other = with_condition(condition, N_FIT), with_condition(condition, N_VALIDATION, seed=5)
            # Targets that need the weakest direction as much as the strongest.
            y, y_other = draw(N_FIT, seed=8), draw(N_VALIDATION, seed=9)
            wide = np.linalg.lstsq(x.astype(np.float64), y.astype(np.float64), rcond=None)[0]
            basis = Basis.of(torch.from_numpy(x))
            assert basis.rank == WIDTH
            # Rounding the states to single precision moves the smallest singular value by 6e-8 of the largest.
            assert basis.condition == pytest.approx(np.linalg.cond(x.astype(np.float64)), rel=1e-6)
            assert basis.condition == pytest.approx(condition, rel=1e-6 + 2e-7 * condition)
            double = r2_score(y_other, x_other.astype(np.float64) @ wide)
            # Validation states that are weak elsewhere are stretched by up to the condition; r^2 is far below 0,
            # and as exact.
            assert r2_of(x, y, x_other, y_other) == pytest.approx(double, rel=1e-4)


@pytest.mark.parametrize("condition", [3e2, 3e3, 3e4])
def test_a_kept_matrix_is_taken_in_double_where_single_is_not_enough(condition: float) -> None:
    x = with_condition(condition, N_FIT)
    # Targets that the strongest directions make: an error there is as large as the condition in the weakest.
    y = (x @ draw(WIDTH, seed=8)).astype(np.float32)
    exact = np.linalg.lstsq(x.astype(np.float64), y.astype(np.float64), rcond=None)[0].T
    basis = Basis.of(torch.from_numpy(x))
    assert basis.is_single_enough == (condition <= SINGLE_CONDITION)
    ours = basis.matrix(torch.from_numpy(y)).numpy()
    single = (basis.back @ basis.coefficients(torch.from_numpy(y)).double()).T.numpy()
    size = np.abs(exact).max()
    off, off_in_single = np.abs(ours - exact).max() / size, np.abs(single - exact).max() / size
    if basis.is_single_enough:
        # The condition times single precision's 6e-8.
        assert off <= condition * 6e-8
    else:
        # What rounding to single precision takes from A in the end, and no more; single products lose 100 times that.
        assert off <= 1e-7
        assert off_in_single > 1e-5


def test_decompositions_agree_where_both_can_be_used() -> None:
    x, y = with_condition(GRAM_CONDITION / 2, N_FIT), noisy(draw(N_FIT), seed=3)
    beyond = with_condition(GRAM_CONDITION * 2, N_FIT)
    for states in (x, beyond):
        basis = Basis.of(torch.from_numpy(states))
        columns = basis.columns.double()
        # Orthonormal to single precision by either way: 6e-8 in each of 300 products, which do not all add up.
        np.testing.assert_allclose((columns.T @ columns).numpy(), np.eye(WIDTH), atol=1e-6)
        exact = np.linalg.lstsq(states.astype(np.float64), y.astype(np.float64), rcond=None)[0]
        predicted = columns @ basis.coefficients(torch.from_numpy(y)).double()
        np.testing.assert_allclose(predicted.numpy(), states.astype(np.float64) @ exact, atol=1e-5)


@pytest.mark.parametrize(("n", "rank"), [(N_FIT, 15), (WIDTH - 5, WIDTH - 5), (WIDTH - 5, 7)])
def test_states_without_all_directions_get_the_map_of_least_norm(n: int, rank: int) -> None:
    x = (draw(n, rank) @ draw(rank, WIDTH, seed=1)).astype(np.float32)
    y = noisy(draw(n), seed=2)
    basis = Basis.of(torch.from_numpy(x))
    assert basis.rank == rank
    ours = basis.matrix(torch.from_numpy(y)).numpy()
    # What single precision rounded away stands far below the singular values that are there.
    least = (np.linalg.pinv(x.astype(np.float64), rcond=1e-6) @ y).T
    np.testing.assert_allclose(ours, least, atol=1e-5 * np.abs(least).max())
    values = np.linalg.svd(x.astype(np.float64), compute_uv=False)[:rank]
    assert basis.condition == pytest.approx(values[0] / values[-1], rel=1e-5)


def test_states_that_are_all_zero_predict_nothing() -> None:
    basis = Basis.of(torch.zeros(10, 4))
    assert (basis.rank, basis.condition) == (0, None)
    assert torch.equal(basis.matrix(torch.ones(10, 3)), torch.zeros(3, 4))


def test_a_planted_map_is_found() -> None:
    planted = draw(WIDTH, seed=4)
    x, x_other = draw(N_FIT), draw(N_VALIDATION, seed=1)
    y, y_other = x @ planted.T, x_other @ planted.T
    np.testing.assert_allclose(
        Basis.of(torch.from_numpy(x)).matrix(torch.from_numpy(y)).numpy(), planted, atol=WELL_CONDITIONED
    )
    assert r2_of(x, y, x_other, y_other) == pytest.approx(1, abs=1e-9)


def test_shuffled_targets_are_not_predicted() -> None:
    planted = draw(WIDTH, seed=4)
    x, x_other = draw(N_FIT), draw(N_VALIDATION, seed=1)
    order = np.random.default_rng(2)
    y, y_other = order.permutation(x @ planted.T), order.permutation(x_other @ planted.T)
    assert r2_of(x, y, x_other, y_other) <= 0
