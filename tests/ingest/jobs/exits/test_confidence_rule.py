"""Exits by confidence against a plain loop, and their ends: the lowest threshold always leaves, the highest never."""

import itertools

import numpy as np
import pytest

from neurothek.ingest.jobs.exits.rules import FINE_LAMBDAS, LAMBDAS, NEVER, exit_states, outcome
from tests.support import exits as plain

N, N_LAYERS = 200, 6


@pytest.fixture(scope="module")
def margins() -> np.ndarray:
    """Surer from state to state, and at the last one as sure as can be."""
    draw = np.random.default_rng(5)
    found = np.sort(draw.random((N, N_LAYERS + 1)), axis=1)
    found[:, -1] = 1.0
    return found


@pytest.fixture(scope="module")
def positions() -> np.ndarray:
    return np.random.default_rng(6).integers(0, 40, N)


def test_grids_are_those_of_the_definition() -> None:
    assert list(LAMBDAS) == [-1.112, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.112]
    finer = [1 + 0.0112 * step for step in range(1, 10)]
    assert list(FINE_LAMBDAS) == pytest.approx([*LAMBDAS[:-1], *finer, 1.112])


@pytest.mark.parametrize("strictness", FINE_LAMBDAS)
def test_exits_are_those_of_the_definition(margins: np.ndarray, positions: np.ndarray, strictness: float) -> None:
    mean_length = sum(position + 1 for position in positions.tolist()) / N
    expected = [
        plain.exit_state(margins[row].tolist(), int(positions[row]), mean_length, strictness) for row in range(N)
    ]
    assert exit_states(margins.copy(), positions, strictness=strictness).tolist() == expected


def test_the_lowest_threshold_always_leaves_and_the_highest_never(margins: np.ndarray, positions: np.ndarray) -> None:
    # As sure as can be and not sure at all, at positions first and last: no other sentence is further out.
    extreme = np.stack([np.zeros(N_LAYERS + 1), np.ones(N_LAYERS + 1), *margins])
    places = np.concatenate([[0, 0], positions])
    assert set(exit_states(extreme, places, strictness=-NEVER).tolist()) == {1}
    assert set(exit_states(extreme, places, strictness=NEVER).tolist()) == {N_LAYERS}


def test_stricter_is_never_earlier(margins: np.ndarray, positions: np.ndarray) -> None:
    found = [exit_states(margins, positions, strictness=strictness) for strictness in FINE_LAMBDAS]
    assert all(bool((later >= earlier).all()) for earlier, later in itertools.pairwise(found))
    assert len({tuple(states.tolist()) for states in found[1:12]}) > 5


def test_early_positions_need_more() -> None:
    margins = np.array([[0.0, 0.55, 1.0]] * 2)
    assert exit_states(margins, np.array([0, 30]), strictness=0.5).tolist() == [2, 1]


def test_a_model_of_one_layer_has_one_state_to_leave() -> None:
    margins, places = np.zeros((3, 2)), np.arange(3)
    assert exit_states(margins, places, strictness=-NEVER).tolist() == [1, 1, 1]
    assert exit_states(margins, places, strictness=NEVER).tolist() == [1, 1, 1]


def test_margins_are_not_written_to(margins: np.ndarray, positions: np.ndarray) -> None:
    before = margins.copy()
    exit_states(margins, positions, strictness=0.3)
    np.testing.assert_array_equal(margins, before)


def test_outcome_sums_up() -> None:
    run, correct = np.array([1, 2, 4, 4]), np.array([True, False, True, True])
    found = outcome(run, correct, n_layers=4)
    assert (found.n, found.n_correct, found.n_exited) == (4, 3, 2)
    assert found.accuracy == 0.75
    assert found.layers_run == 11 / 4
    assert found.layers_run_sd == pytest.approx(1.5)
    assert found.layers_saved == 5 / 4
    assert found.layers_saved_correct == 1.0


def test_outcome_of_one_wrong_example() -> None:
    found = outcome(np.array([1]), np.array([False]), n_layers=4)
    assert (found.accuracy, found.layers_run_sd, found.layers_saved_correct) == (0.0, None, None)


def test_outcome_of_two_examples_has_a_deviation() -> None:
    found = outcome(np.array([1, 3]), np.array([True, False]), n_layers=3)
    assert found.layers_run_sd == pytest.approx(2**0.5)
    assert (found.n_exited, found.layers_saved, found.layers_saved_correct) == (1, 1.0, 2.0)
