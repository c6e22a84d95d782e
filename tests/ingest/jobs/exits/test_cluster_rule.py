"""The exit rule by sub-update clusters against plain loops, on examples where it must leave, and where it must not."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.ingest.jobs.exits.rules import SEEDS, SIMILARITIES, Similarity, Split, cluster_exit_layers
from tests.support import exits as plain

N_LAYERS, PLACES = 4, 10


def drawn(seed: int, *, n: int, n_layers: int, n_ids: int, places: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    lists = draw.integers(-1, n_ids, (n_layers, n, places))
    return lists.astype(np.int32), draw.integers(0, n_layers, n)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(20, 60),
    n_layers=st.integers(1, 5),
    n_ids=st.integers(2, 9),
    places=st.integers(1, 6),
)
def test_rule_is_that_of_the_definition(
    similarity: Similarity, *, seed: int, n: int, n_layers: int, n_ids: int, places: int
) -> None:
    lists, saturation = drawn(seed, n=n, n_layers=n_layers, n_ids=n_ids, places=places)
    split = Split.of(n, seed=38)
    found = cluster_exit_layers(lists, saturation, split, similarity=similarity)
    train = split.train.tolist()
    expected = [
        plain.exit_layer(example, lists.tolist(), saturation.tolist(), train, sets=similarity == "sets")
        for example in split.test.tolist()
    ]
    assert found.tolist() == expected


def planted(n: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """At its saturation layer, and there alone, an example's first six ids are those of the layer; else its own."""
    saturation = np.random.default_rng(seed).integers(0, N_LAYERS, n)
    lists = 10 + np.arange(N_LAYERS * n * PLACES, dtype=np.int32).reshape(N_LAYERS, n, PLACES)
    for example, layer in enumerate(saturation):
        lists[layer, example, :6] = range(6)
    return lists, saturation


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_planted_examples_are_left_at_their_layer(similarity: Similarity) -> None:
    lists, saturation = planted(400, seed=1)
    split = Split.of(400, seed=SEEDS[0])
    found = cluster_exit_layers(lists, saturation, split, similarity=similarity)
    np.testing.assert_array_equal(found, saturation[split.test])


def test_order_matters_to_ranks_alone() -> None:
    """Ids of the layer in another order than in training: sets see them, places do not."""
    lists, saturation = planted(400, seed=2)
    split = Split.of(400, seed=SEEDS[0])
    for example in split.test:
        lists[saturation[example], example, :6] = [1, 2, 3, 4, 5, 0]
    by_sets = cluster_exit_layers(lists, saturation, split, similarity="sets")
    by_ranks = cluster_exit_layers(lists, saturation, split, similarity="ranks")
    np.testing.assert_array_equal(by_sets, saturation[split.test])
    assert set(by_ranks.tolist()) == {N_LAYERS - 1}


def test_shuffled_labels_leave_no_better_than_chance() -> None:
    lists, saturation = planted(600, seed=3)
    draw = np.random.default_rng(0)
    # Few enough ids that lists are alike by chance.
    lists = np.where(lists < 6, lists, draw.integers(6, 60, lists.shape)).astype(np.int32)
    n_right = n_expected = n_tried = 0.0
    for seed in SEEDS:
        shuffled = draw.permutation(saturation)
        split = Split.of(600, seed=seed)
        found = cluster_exit_layers(lists, shuffled, split)
        n_right += int((found == saturation[split.test]).sum())
        # Right by chance: the two distributions of layers, drawn apart.
        shares = Counter(saturation.tolist())
        n_expected += sum(shares[layer] / 600 for layer in found.tolist())
        n_tried += len(found)
    # 300 tries at about a fourth each: a standard deviation of 7.5, of which this is four.
    assert n_tried == 300
    assert abs(n_right - n_expected) < 30


def test_nobody_saturates_there_so_nobody_leaves() -> None:
    lists, _ = planted(100, seed=4)
    split = Split.of(100, seed=38)
    late = np.full(100, N_LAYERS - 1)
    assert set(cluster_exit_layers(lists, late, split).tolist()) == {N_LAYERS - 1}


def test_where_all_saturate_at_once_there_is_nothing_to_beat() -> None:
    lists, _ = planted(100, seed=5)
    split = Split.of(100, seed=38)
    assert set(cluster_exit_layers(lists, np.ones(100, dtype=int), split).tolist()) == {1}


def test_equal_similarity_is_not_enough() -> None:
    """The same list everywhere: as like those that saturate here as those that do later."""
    lists = np.tile(np.arange(PLACES, dtype=np.int32), (N_LAYERS, 100, 1))
    saturation = np.arange(100) % N_LAYERS
    split = Split.of(100, seed=38)
    assert set(cluster_exit_layers(lists, saturation, split).tolist()) == {N_LAYERS - 1}


def test_a_model_of_one_layer_is_never_left() -> None:
    lists, saturation = drawn(0, n=40, n_layers=1, n_ids=5, places=4)
    assert cluster_exit_layers(lists, saturation, Split.of(40, seed=38)).tolist() == [0] * 4


@given(n=st.integers(20, 3_000), seed=st.sampled_from(SEEDS))
def test_a_split_has_every_example_once(n: int, seed: int) -> None:
    split = Split.of(n, seed=seed)
    assert sorted([*split.fit, *split.validation, *split.test]) == list(range(n))
    assert len(split.test) == len(split.validation) == n // 10
    again = Split.of(n, seed=seed)
    assert again.test.tolist() == split.test.tolist()


def test_seeds_split_differently() -> None:
    tests = [tuple(sorted(Split.of(500, seed=seed).test.tolist())) for seed in SEEDS]
    assert len(set(tests)) == len(SEEDS)
