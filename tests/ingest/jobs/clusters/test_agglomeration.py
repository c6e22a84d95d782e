"""Clusters: a plain complete linkage where they are exact, near it where not, and right about what is planted."""

from itertools import chain, pairwise

import fastcluster
import numpy as np
import pytest
import torch
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_rand_score

from neurothek.ingest.jobs.clusters import agglomeration, complete_linkage, nearest_groups
from neurothek.ingest.jobs.clusters.nearest_groups import Groups, Nearest
from neurothek.ingest.numerics.unit_vectors import directions_of

SIZES = (1, 2, 9, 60, 299, 300)


def noise(n: int, d: int = 16, seed: int = 0) -> torch.Tensor:
    return directions_of(torch.randn(n, d, generator=torch.Generator().manual_seed(seed)))


def bundles(n_bundles: int, each: int, *, d: int = 48, spread: float = 0.02, seed: int = 1) -> torch.Tensor:
    """Vectors in tight bundles, the bundles mixed."""
    random = torch.Generator().manual_seed(seed)
    centres = torch.randn(n_bundles, d, generator=random)
    vectors = centres.repeat(each, 1) + spread * torch.randn(n_bundles * each, d, generator=random)
    return directions_of(vectors)


def slow_complete_linkage(vectors: np.ndarray, size: int) -> list[set[int]]:
    """Merge the two groups whose most distant members are nearest, until `size` groups are left."""
    groups = [{i} for i in range(len(vectors))]
    distance = 1 - vectors @ vectors.T
    while len(groups) > size:
        pairs = [(i, j) for i in range(len(groups)) for j in range(i + 1, len(groups))]
        one, other = min(pairs, key=lambda pair: max(distance[a, b] for a in groups[pair[0]] for b in groups[pair[1]]))
        groups[one] |= groups.pop(other)
    return groups


def cut_by(method: str, vectors: torch.Tensor, *, most: int, either_sign: bool = False) -> agglomeration.Cut:
    if method == "scalable":
        return agglomeration.scalable(vectors, most=most, either_sign=either_sign)
    return agglomeration.exact(vectors, most=most if "rounds" in method else None, either_sign=either_sign)


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


MOSTS = (None, 300, 200, 40, 3, 1)
"""How many groups' distances fit into memory: those of all vectors, or only after ever more rounds of merges."""


@pytest.mark.parametrize("most", MOSTS)
def test_exact_equals_a_plain_loop(most: int | None, subtests: pytest.Subtests) -> None:
    for size in [1, 3, 7, 24, 25]:
        with subtests.test(size=size):
            vectors = noise(25, 6)
            expected = slow_complete_linkage(vectors.double().numpy(), size)
            assert partition(agglomeration.exact(vectors, most=most)(size)) == {frozenset(group) for group in expected}


@pytest.mark.parametrize("most", MOSTS)
@pytest.mark.parametrize("either_sign", [False, True])
def test_exact_equals_scipy(most: int | None, either_sign: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Several blocks both ways.
    monkeypatch.setattr(nearest_groups, "ROW_VECTORS", 70)
    monkeypatch.setattr(nearest_groups, "COLUMN_VECTORS", 110)
    vectors = noise(300)
    distances = pdist(vectors.double().numpy(), "cosine")
    merges = hierarchy.linkage(1 - np.abs(1 - distances) if either_sign else distances, "complete")
    cut = agglomeration.exact(vectors, most=most, either_sign=either_sign)
    for size in SIZES:
        assert partition(cut(size)) == partition(hierarchy.fcluster(merges, size, "maxclust"))


def test_a_chain_in_which_one_pair_at_a_time_is_nearest_to_each_other_ends() -> None:
    """Angles between neighbours grow along the chain: everything's nearest comes before it."""
    angles = 0.01 * 1.06 ** np.arange(60).cumsum() ** 0.5
    angles = np.cumsum(angles) * 3 / np.cumsum(angles).max()
    vectors = torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=1)).float()
    nearest = Nearest.of(Groups.of(vectors, np.arange(60), either_sign=False))
    assert nearest.places.tolist() == [1, *range(59)]
    assert nearest.reciprocal().tolist() == [[0, 1]]
    expected = agglomeration.exact(vectors)
    for size in (1, 2, 7, 30, 59):
        assert partition(agglomeration.exact(vectors, most=2)(size)) == partition(expected(size))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_nearest_is_known_after_every_round(seed: int) -> None:
    vectors = noise(120, 5, seed)
    nearest = Nearest.of(Groups.of(vectors, np.arange(120), either_sign=False))
    distances = 1 - vectors.double().numpy() @ vectors.double().numpy().T
    while True:
        members = [nearest.groups.members[a:b].tolist() for a, b in pairwise(nearest.groups.starts)]
        assert sorted(chain.from_iterable(members)) == list(range(120))
        assert sorted(map(len, members), reverse=True) == list(map(len, members))
        if len(members) == 1:
            break
        for number, place in enumerate(nearest.places.tolist()):
            farthest = [max(distances[a, b] for a in members[number] for b in other) for other in members]
            farthest[number] = np.inf
            assert place == int(np.argmin(farthest))
            assert nearest.distances[number] == pytest.approx(min(farthest), abs=1e-6)
        pairs = nearest.reciprocal()
        merged = [set(members[one]) | set(members[other]) for one, other in pairs.tolist()]
        rest = [set(group) for number, group in enumerate(members) if number not in pairs]
        groups = nearest.merged(pairs)
        nearest = nearest.after(pairs, groups)
        after = {frozenset(groups.members[a:b].tolist()) for a, b in pairwise(groups.starts)}
        assert after == set(map(frozenset, merged + rest))


def test_where_roundings_leave_no_pair_the_nearest_of_all_are_merged() -> None:
    three = Groups.of(noise(3), np.arange(3), either_sign=False)
    nearest = Nearest(three, np.array([1, 2, 0]), np.array([0.5, 0.25, 0.5]))
    assert nearest.reciprocal().tolist() == [[1, 2]]


def test_distances_lie_as_scipy_has_them_whatever_the_blocks() -> None:
    vectors = noise(1100, 8)
    expected = pdist(vectors.double().numpy(), "cosine")
    # A cosine of float32 vectors is right to a few units of 2^-24.
    assert np.abs(complete_linkage.cosine_distances(vectors) - expected).max() < 1e-6


def test_the_private_function_and_the_public_one_merge_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = noise(300)
    assert vars(complete_linkage)["linkage_wrap"] is not None
    private = complete_linkage.complete_linkage(complete_linkage.cosine_distances(vectors), 300)
    monkeypatch.setattr(complete_linkage, "linkage_wrap", None)
    assert np.array_equal(complete_linkage.complete_linkage(complete_linkage.cosine_distances(vectors), 300), private)
    assert np.array_equal(fastcluster.linkage(complete_linkage.cosine_distances(vectors), "complete"), private)


def test_what_fits_into_memory_is_the_most_that_fits(subtests: pytest.Subtests) -> None:
    for n in [1, 2, 3, 1000, 46_341]:
        with subtests.test(n=n):
            assert complete_linkage.most_within(complete_linkage.linkage_bytes(n)) in (n, n - 1)
            assert complete_linkage.linkage_bytes(complete_linkage.most_within(10**9)) <= 10**9
            assert complete_linkage.most_within(-5) == 0


def test_clusters_are_numbered_in_the_order_of_their_first_members() -> None:
    for cut in (agglomeration.exact(noise(300)), agglomeration.scalable(noise(300), most=120)):
        labels = cut(40)
        first = [int(np.flatnonzero(labels == label)[0]) for label in range(40)]
        assert first == sorted(first)


@pytest.mark.parametrize("most", [40, 110, 299])
@pytest.mark.parametrize("size", SIZES)
def test_scalable_gives_as_many_clusters_as_asked(most: int, size: int) -> None:
    labels = agglomeration.scalable(noise(300), most=most)(size)
    assert sorted(set(labels.tolist())) == list(range(size))


def test_scalable_is_exact_once_the_first_merges_are_made() -> None:
    """Groups of two known twins each: from there on the merges are those of complete linkage over all pairs."""
    vectors = bundles(60, 2, d=24)
    expected = agglomeration.exact(vectors)
    found = agglomeration.scalable(vectors, most=60)
    for size in (60, 35, 10, 2):
        assert partition(found(size)) == partition(expected(size))


@pytest.mark.parametrize("method", ["exact", "exact in rounds", "scalable"])
def test_planted_bundles_and_duplicates_are_found(method: str) -> None:
    vectors = torch.cat([bundles(12, 20), bundles(5, 8, spread=0.0, seed=3)])
    cut = cut_by(method, vectors, most=100)
    truth = np.concatenate([np.tile(np.arange(12), 20), 12 + np.tile(np.arange(5), 8)])
    assert partition(cut(17)) == partition(truth)


@pytest.mark.parametrize("method", ["exact", "exact in rounds", "scalable"])
def test_vectors_without_a_direction_have_cosine_0(method: str) -> None:
    """One that is orthogonal to nothing: distance 1 to all, so that it stays alone while near ones merge."""
    vectors = bundles(6, 10)
    vectors[7] = 0
    cut = cut_by(method, vectors, most=30)
    labels = cut(7)
    assert (labels == labels[7]).sum() == 1
    cosines = agglomeration.centre_cosines(vectors, labels)
    assert np.isnan(cosines[7])
    assert np.isfinite(np.delete(cosines, 7)).all()


def test_all_vectors_alike_can_be_cut_in_parts() -> None:
    same = torch.ones(100, 4) / 2
    found = agglomeration.parts(same, most=15)
    assert max(map(len, found)) <= 15
    assert sorted(np.concatenate(found).tolist()) == list(range(100))
    # Their merges tie at height 0, so that scipy's cut gives one cluster, and so does ours.
    assert len(set(agglomeration.exact(same)(8).tolist())) == 1
    assert len(set(agglomeration.exact(same, most=15)(8).tolist())) == 1
    assert len(set(agglomeration.scalable(same, most=15)(8).tolist())) == 1


def test_two_bundles_are_two_parts() -> None:
    labels = np.zeros(80, dtype=np.int64)
    for number, part in enumerate(agglomeration.parts(bundles(2, 40), most=45)):
        labels[part] = number
    assert partition(labels) == partition(np.tile([0, 1], 40))


def test_cosines_with_the_centre_give_the_mean_cosine_within_a_cluster() -> None:
    vectors = noise(200, 5)
    labels = agglomeration.exact(vectors)(9)
    cosines = agglomeration.centre_cosines(vectors, labels)
    for label in range(9):
        mine = vectors[torch.from_numpy(labels == label)].double().numpy()
        n = len(mine)
        if n > 1:
            plain = (mine @ mine.T)[~np.eye(n, dtype=bool)].mean()
            derived = (cosines[labels == label].sum() ** 2 - n) / (n * (n - 1))
            assert derived == pytest.approx(plain, abs=1e-6)


def test_scalable_is_nearly_as_tight_as_exact() -> None:
    """4,000 vectors, 1,540 linked at once: the share that 8 GB leave to 98,304 of them."""
    random = torch.Generator().manual_seed(5)
    centres = torch.randn(350, 64, generator=random)
    vectors = torch.randn(4000, 64, generator=random)
    vectors[:2800] = centres[torch.randint(350, (2800,), generator=random)] + 0.5 * vectors[:2800]
    vectors = directions_of(vectors[torch.randperm(4000, generator=random)])
    exact, scalable = agglomeration.exact(vectors)(400), agglomeration.scalable(vectors, most=1540)(400)
    assert mean_cosine(vectors, scalable) > 0.95 * mean_cosine(vectors, exact)
    assert adjusted_rand_score(exact, scalable) > 0.4
    shuffled = np.random.default_rng(0).permutation(exact)
    assert adjusted_rand_score(exact, shuffled) < 0.02


def mean_cosine(vectors: torch.Tensor, labels: np.ndarray) -> float:
    """Mean cosine over all pairs within a cluster."""
    cosines = (vectors @ vectors.T).numpy()
    together = labels[:, None] == labels[None, :]
    np.fill_diagonal(together, val=False)
    return float(cosines[together].mean())


def test_two_vectors_merge_once_and_one_never() -> None:
    assert complete_linkage.complete_linkage(np.array([0.25]), 2).tolist() == [[0, 1, 0.25, 2]]
    assert complete_linkage.complete_linkage(np.empty(0), 1).shape == (0, 4)


@pytest.mark.parametrize("n", [2, 3, 1_000, 50_000])
def test_memory_of_distances_is_that_of_all_pairs(n: int) -> None:
    # 8 bytes a pair: the library's own function works in place.
    pairs = n * (n - 1) // 2
    assert complete_linkage.linkage_bytes(n) == 8 * pairs
    # What is said to fit does, and one vector more would take more than that.
    within = complete_linkage.most_within(8 * pairs)
    assert complete_linkage.linkage_bytes(within) <= 8 * pairs < complete_linkage.linkage_bytes(within + 2)


def test_nothing_fits_into_no_memory() -> None:
    assert complete_linkage.most_within(0) == complete_linkage.most_within(-8) == 0


def test_memory_beside_distances_holds_two_copies_of_the_vectors() -> None:
    # 256 MiB of cosines, and a vector's 200 bytes beside two copies of its 64 numbers of 4 bytes.
    assert agglomeration.bytes_beside(1_000, 64) == 268_435_456 + 1_000 * (200 + 2 * 64 * 4)
    assert agglomeration.least_bytes(10, 64) == agglomeration.bytes_beside(10, 64) + 45 * 8
    # A thousand vectors are linked at once, or more where memory allows.
    assert agglomeration.least_bytes(5_000, 64) == agglomeration.bytes_beside(5_000, 64) + 499_500 * 8


def test_only_processors_share_work() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert complete_linkage.workers_on(torch.device("cpu")) == 3
        assert complete_linkage.workers_on(torch.device("cuda")) == 1
        assert complete_linkage.workers_on(torch.device("meta")) == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("method", ["exact", "exact in rounds", "scalable"])
def test_where_either_sign_will_do_bundles_are_found_that_look_both_ways(method: str) -> None:
    vectors = bundles(12, 20)
    signs = torch.where(torch.randn(240, generator=torch.Generator().manual_seed(4)) < 0, -1.0, 1.0)
    truth = np.tile(np.arange(12), 20)
    for signed in (vectors, vectors * signs[:, None]):
        assert partition(cut_by(method, signed, most=100, either_sign=True)(12)) == partition(truth)
    assert partition(agglomeration.exact(vectors * signs[:, None])(12)) != partition(truth)


def test_signs_turn_vectors_the_way_of_their_cluster() -> None:
    """Bundles of which half the vectors look the other way; each points to where the scores have their longer tail."""
    labels = np.arange(60) % 6
    # The sixth is one vector alone.
    labels[5::6] = np.r_[5, np.arange(9) % 5]
    centres = directions_of(torch.randn(6, 24, generator=torch.Generator().manual_seed(2)))
    random = torch.Generator().manual_seed(3)
    vectors = directions_of(centres[labels] + 0.05 * torch.randn(60, 24, generator=random))
    # Entries of one sign that are few and far out: every direction has a skew.
    unembedding = torch.randn(500, 24, generator=random).exp()
    signs = torch.where(torch.arange(60) % 4 < 2, 1.0, -1.0)
    turned = signs * agglomeration.turned(vectors * signs[:, None], labels, unembedding)
    for label in range(6):
        mine = turned[torch.from_numpy(labels == label)]
        assert len({*mine.tolist()}) == 1
        scores = unembedding.double() @ (mine[0] * vectors[torch.from_numpy(labels == label)].sum(0)).double()
        assert ((scores - scores.mean()) ** 3).mean() > 0
    # Both ways are there to be told apart.
    assert {*turned.tolist()} == {1.0, -1.0}
