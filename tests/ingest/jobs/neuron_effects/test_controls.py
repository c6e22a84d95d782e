"""Random neurons of a layer: which, how many, and the same for a seed."""

import numpy as np

from neurothek.ingest.jobs.neuron_effects.single_losses import N_CONTROLS, random_neurons


def test_as_many_as_there_are_at_most_twenty_each_once() -> None:
    firing = np.arange(100, 400, 3)
    found = random_neurons(firing, 2, seed=0)
    assert len(set(found.tolist())) == N_CONTROLS
    assert set(found.tolist()) <= set(firing.tolist())
    assert found.tolist() == sorted(found.tolist())
    assert random_neurons(firing[:5], 2, seed=0).tolist() == firing[:5].tolist()
    assert random_neurons(firing[:0], 2, seed=0).tolist() == []


def test_a_draw_is_its_seeds_and_its_layers() -> None:
    firing = np.arange(1_000)
    drawn = [tuple(random_neurons(firing, layer, seed=seed).tolist()) for seed in (0, 1) for layer in (0, 1)]
    assert len(set(drawn)) == 4
    assert tuple(random_neurons(firing, 1, seed=1).tolist()) == drawn[3]


def test_every_neuron_has_the_same_chance() -> None:
    firing = np.arange(100)
    counts = np.zeros(100)
    for seed in range(1_000):
        counts[random_neurons(firing, 0, seed=seed)] += 1
    # 200 expected of each, 12.6 the standard deviation.
    assert np.abs(counts - 200).max() < 5 * 12.6
