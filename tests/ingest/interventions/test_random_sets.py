"""Random sets: as many neurons of every layer, that fire about as often, none that was chosen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.ingest.interventions.shared import N_BINS, bins, matched_sets

D_FFN = 200
FREQUENCY = np.concatenate([np.zeros(40), np.linspace(0.001, 0.9, D_FFN - 40)])


def test_bins_are_tenths_of_what_fires_and_the_dead_are_their_own() -> None:
    found = bins(FREQUENCY)
    assert set(found[:40].tolist()) == {0}
    assert np.bincount(found).tolist() == [40, *[16] * N_BINS]
    assert (np.diff(found[40:]) >= 0).all()
    assert bins(np.zeros(3)).tolist() == [0, 0, 0]
    assert bins(np.array([0.5])).tolist() == [1]


def test_sets_match_by_layer_and_by_tenth() -> None:
    chosen = {0: np.array([0, 1, 50, 51, 199]), 2: np.array([100])}
    frequencies = dict.fromkeys(range(3), FREQUENCY)
    sets = matched_sets(chosen, frequencies, n_sets=20, seed=1)
    assert len(sets) == 20
    for one in sets:
        assert one.keys() == chosen.keys()
        for layer, neurons in one.items():
            assert not set(neurons.tolist()) & set(chosen[layer].tolist())
            assert len(set(neurons.tolist())) == len(chosen[layer])
            assert (np.diff(neurons) > 0).all()
            wanted = sorted(bins(FREQUENCY)[chosen[layer]].tolist())
            assert sorted(bins(FREQUENCY)[neurons].tolist()) == wanted
    drawn = {tuple(one[0].tolist()) for one in sets}
    assert len(drawn) > 15


def test_a_seed_gives_the_same_sets_and_another_one_others() -> None:
    chosen, frequencies = {0: np.arange(60, 70)}, {0: FREQUENCY}
    one, again = (matched_sets(chosen, frequencies, n_sets=3, seed=5) for _ in range(2))
    other = matched_sets(chosen, frequencies, n_sets=3, seed=6)
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(one, again, strict=True))
    assert not all(np.array_equal(a[0], b[0]) for a, b in zip(one, other, strict=True))


def test_where_a_tenth_has_too_few_the_next_ones_stand_in() -> None:
    """All dead neurons are chosen: those that fire least stand for them."""
    (one,) = matched_sets({0: np.arange(40)}, {0: FREQUENCY}, n_sets=1, seed=0)
    assert len(one[0]) == 40
    assert set(bins(FREQUENCY)[one[0]].tolist()) == {1, 2, 3}


def test_where_most_are_chosen_the_chosen_fill_up() -> None:
    (one,) = matched_sets({0: np.arange(150)}, {0: FREQUENCY}, n_sets=1, seed=0)
    assert len(set(one[0].tolist())) == 150
    assert set(range(150, 200)) <= set(one[0].tolist())


@pytest.mark.parametrize("n_sets", [0, 1])
def test_nothing_chosen_is_nothing_drawn(n_sets: int) -> None:
    assert matched_sets({}, {0: FREQUENCY}, n_sets=n_sets, seed=0) == [{}] * n_sets


@given(st.sets(st.integers(0, 39), min_size=1), st.integers(0, 2**32 - 1))
def test_any_choice_is_matched_in_size(chosen: set[int], seed: int) -> None:
    frequency = np.random.default_rng(seed).random(40) * (np.arange(40) % 3 > 0)
    (one,) = matched_sets({4: np.array(sorted(chosen))}, {4: frequency}, n_sets=1, seed=seed)
    assert len(set(one[4].tolist())) == len(chosen)
    if len(chosen) <= 20:
        assert not chosen & set(one[4].tolist())
