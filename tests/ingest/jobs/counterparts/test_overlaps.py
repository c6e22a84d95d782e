"""Overlaps of lists and the best of each, against loops over all pairs."""

import itertools
import math

import numpy as np
import pytest

from neurothek.ingest.jobs.counterparts import overlaps
from neurothek.ingest.jobs.counterparts.overlaps import Best, best_of_each_other, rank_weights
from tests.support import overlaps as plain

SIZES = [(30, 21, 5, 5), (21, 30, 5, 3), (1, 1, 4, 4), (17, 3, 1, 6), (40, 40, 12, 12)]


def lists(n: int, k: int, *, vocab: int = 40, seed: int) -> np.ndarray:
    """[n 2 k] different tokens a list, each token likelier the lower its id, as in models whose lists are crowded."""
    chosen = np.random.default_rng(seed)
    shares = 1 / np.arange(1, vocab + 1)
    found = [chosen.choice(vocab, k, replace=False, p=shares / shares.sum()) for _ in range(2 * n)]
    return np.array(found, dtype=np.int32).reshape(n, 2, k)


def by_loops(one: np.ndarray, other: np.ndarray, n_best: int) -> list[list[tuple[int, float]]]:
    others = dict(enumerate(map(plain.weigh, other.tolist())))
    return [plain.best(plain.weigh(own), others, n_best) for own in one.tolist()]


def found(best: Best, k: int, other_k: int) -> list[list[tuple[int, float]]]:
    rows = zip(best.places.tolist(), best.overlaps(k, other_k).tolist(), strict=True)
    return [[pair for pair in zip(*row, strict=True) if pair[0] >= 0] for row in rows]


def assert_same(found: list[list[tuple[int, float]]], expected: list[list[tuple[int, float]]]) -> None:
    assert [[place for place, _ in row] for row in found] == [[place for place, _ in row] for row in expected]
    values = [value for row in found for _, value in row]
    # A weight is at most 2^-47 beside itself, and a list has few.
    assert values == pytest.approx([value for row in expected for _, value in row], abs=1e-13)


@pytest.mark.parametrize("block", [4, 16, 1024])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_best_equal_a_loop_from_either_side(
    sizes: tuple[int, int, int, int], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, m, k, other_k = sizes
    monkeypatch.setattr(overlaps, "BLOCK", block)
    one, other = lists(n, k, seed=1), lists(m, other_k, seed=2)
    ((forth, back),) = best_of_each_other(one, other, n_best=5)
    assert_same(found(forth, k, other_k), by_loops(one, other, 5))
    assert_same(found(back, other_k, k), by_loops(other, one, 5))


def test_an_overlap_is_the_same_from_either_side_in_every_bit() -> None:
    one, other = lists(60, 20, seed=3), lists(50, 20, seed=4)
    (found,) = best_of_each_other(one, other, n_best=60)
    forth, back = (best.overlaps(20, 20) for best in found)
    there, here = (best.places for best in found)
    values = {(i, int(place)): forth[i, rank] for (i, rank), place in np.ndenumerate(there) if place >= 0}
    assert values == {(int(place), j): back[j, rank] for (j, rank), place in np.ndenumerate(here) if place >= 0}
    assert len(values) > 1000


def test_equal_lists_overlap_wholly_and_disjoint_ones_not_at_all() -> None:
    one = lists(5, 10, seed=5)
    other = np.concatenate([one[3:4], one[:1, ::-1], one[:1] + 100])
    ((forth, back),) = best_of_each_other(one, other, n_best=3)
    assert (forth.places[3, 0], forth.overlaps(10, 10)[3, 0]) == (0, 1.0)
    assert back.places[0, 0] == 3
    # The third shares nothing with anybody: promoted is not suppressed, and other tokens are others.
    assert back.places[2].tolist() == [-1, -1, -1]
    assert not (forth.places == 2).any()


def test_each_of_several_is_compared_by_itself() -> None:
    one, others = lists(20, 8, seed=9), [lists(n, 8, seed=n) for n in (7, 11)]
    together = best_of_each_other(one, *others, n_best=4)
    apart = [best_of_each_other(one, other, n_best=4)[0] for other in others]
    for found, expected in zip(together, apart, strict=True):
        for best, alone in zip(found, expected, strict=True):
            assert np.array_equal(best.places, alone.places)
            assert np.array_equal(best.shared, alone.shared)
            assert np.array_equal(best.first().places[:, 0], alone.places[:, 0])


def test_ties_go_to_the_earlier_place_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlaps, "BLOCK", 4)
    one = lists(3, 6, seed=6)
    other = np.concatenate([lists(2, 6, seed=7) + 100, one[:1], one[:1], lists(3, 6, seed=8) + 100, one[:1]])
    ((forth, _),) = best_of_each_other(one, other, n_best=3)
    assert forth.places[0].tolist() == [2, 3, 7]


def test_weights_are_those_of_the_definition() -> None:
    exact = [1 / math.log2(1 + rank) for rank in range(1, 51)]
    assert rank_weights(50) / 2**46 == pytest.approx(exact, abs=2**-47)
    # A sum of both lists' weights, and a place within a block, fit into 63 bits together.
    assert 2 * int(rank_weights(50).sum()) * overlaps.BLOCK < 2**63
    assert all(a > b for a, b in itertools.pairwise(rank_weights(50).tolist()))


def test_parts_of_one_size_lie_one_after_the_other() -> None:
    ((forth, _),) = best_of_each_other(lists(17, 6, seed=1), lists(9, 6, seed=2), n_best=3)
    parts = [forth.part(number, 5) for number in range(4)]
    assert [len(part.places) for part in parts] == [5, 5, 5, 2]
    for number, part in enumerate(parts):
        for row in range(len(part.places)):
            assert part.places[row].tolist() == forth.places[5 * number + row].tolist()
            assert part.shared[row].tolist() == forth.shared[5 * number + row].tolist()
