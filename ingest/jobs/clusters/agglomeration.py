"""Clusters of directions by complete linkage: over all pairs, or in two steps where that takes too much memory.

All pairs' distances need not fit into memory at once: two groups that are each other's nearest are merged by complete
linkage whatever else is, as no merge brings a third one nearer to either (reducibility, Bruynooghe 1977). Such pairs
are merged, round after round, until the distances of what is left fit.

The scalable method first lets vectors merge only within parts of them, cut by two-means, and in the order of height
over all parts, until the distances of what is left fit into memory; from there on the linkage is exact: the distance of
two groups is that of their two most distant members, over all pairs of vectors.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.cluster.hierarchy import DisjointSet, fcluster
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from neurothek.ingest.jobs.clusters import complete_linkage
from neurothek.ingest.jobs.clusters.nearest_groups import COLUMN_VECTORS, Groups, Nearest, by_size

Method = Literal["exact", "scalable"]
Cut = Callable[[int], np.ndarray]
"""Number of clusters asked for -> the cluster of every vector, numbered in the order of first members."""

LEAST_LINKED = 1000
"""With fewer vectors linked at once, parts would say more about the result than distances do."""

# Blocks of cosines, and what the library and the cut keep a vector.
_WORKSPACE_BYTES, _BYTES_A_VECTOR = 256 << 20, 200

_ROUNDS = 10
# No part gets less than this share of what it is cut from, so that there are few parts.
_SMALLEST_SHARE = 0.25
# Their scores by all tokens are held at once: 13 MB for 50,000 tokens.
_CENTRES = 64


def bytes_beside(n: int, d_model: int) -> int:
    """Memory that clustering `n` vectors takes beside the distances: two copies of them, as they are and by group."""
    return _WORKSPACE_BYTES + n * (_BYTES_A_VECTOR + 8 * d_model)


def least_bytes(n: int, d_model: int) -> int:
    """Memory without which not even the scalable method works."""
    return bytes_beside(n, d_model) + complete_linkage.linkage_bytes(min(n, LEAST_LINKED))


def exact(directions: Float[Tensor, "n d_model"], *, most: int | None = None, either_sign: bool = False) -> Cut:
    """Complete linkage over all pairs; what it asks for may give fewer clusters where merges tie.

    Args:
        directions: what is clustered.
        most: of how many groups the distances fit into memory; None: of all vectors.
        either_sign: whether a vector and its negative are one.
    """
    n = directions.shape[0]
    if most is None or n <= most:
        distances = complete_linkage.cosine_distances(directions, either_sign=either_sign)
        merges = complete_linkage.complete_linkage(distances, n)
    else:
        merges = _merged_in_rounds(directions, most=most, either_sign=either_sign)
    return lambda size: _cut(merges, n, size)


def _merged_in_rounds(directions: Float[Tensor, "n d_model"], *, most: int, either_sign: bool) -> np.ndarray:
    """[n - 1, 4] the merges by rising height, as scipy writes them."""
    nearest = Nearest.of(Groups.of(directions, np.arange(directions.shape[0]), either_sign=either_sign))
    pairs, heights = [], []
    while True:
        reciprocal = nearest.reciprocal()
        pairs.append(nearest.groups.first_members[reciprocal])
        heights.append(nearest.distances[reciprocal[:, 0]])
        groups = nearest.merged(reciprocal)
        if len(groups) <= most:
            break
        nearest = nearest.after(reciprocal, groups)
    merges = complete_linkage.complete_linkage(groups.distances(), len(groups))
    pairs.append(groups.first_members[_members(merges)])
    heights.append(merges[:, 2])
    return _as_merges(np.concatenate(pairs), np.concatenate(heights))


def _as_merges(pairs: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """[n - 1, 2] a member of each side, [n - 1] heights -> [n - 1, 4] merges by rising height, as scipy writes them."""
    n = len(pairs) + 1
    order = np.argsort(heights, kind="stable")
    groups, number = DisjointSet(range(n)), list(range(n))
    merges = np.empty((n - 1, 4))
    for row, (one, other) in enumerate(pairs[order].tolist()):
        sides = sorted((number[groups[one]], number[groups[other]]))
        groups.merge(one, other)
        number[groups[one]] = n + row
        merges[row] = (*sides, heights[order[row]], groups.subset_size(one))
    return merges


def scalable(directions: Float[Tensor, "n d_model"], *, most: int, either_sign: bool = False) -> Cut:
    """The method in two steps, with at most `most` vectors or groups linked at once [ours]."""
    n = directions.shape[0]
    forest = _Forest.of(directions, most=most, either_sign=either_sign)
    groups = by_size(forest.cut(min(n, most)))
    distances = Groups.of(directions, groups, either_sign=either_sign).distances()
    merges = complete_linkage.complete_linkage(distances, int(groups.max()) + 1)

    def cut(size: int) -> np.ndarray:
        if size >= min(n, most):
            return _in_order(forest.cut(size))
        return _in_order(_cut(merges, min(n, most), size)[groups])

    return cut


def _cut(merges: np.ndarray, n: int, size: int) -> np.ndarray:
    if size >= n:
        return np.arange(n)
    return _in_order(fcluster(merges, size, "maxclust"))


def _in_order(labels: np.ndarray) -> np.ndarray:
    """The same clusters, numbered in the order of their first members."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[inverse]


class _Forest:
    """The merges within the parts, all of them by rising height, each as two vectors of what is merged."""

    def __init__(self, n: int, pairs: np.ndarray) -> None:
        self._n, self._pairs = n, pairs

    @classmethod
    def of(cls, directions: Float[Tensor, "n d_model"], *, most: int, either_sign: bool = False) -> "_Forest":
        pairs, heights = [np.empty((0, 2), dtype=np.int64)], [np.empty(0)]
        for part in parts(directions, most=most, either_sign=either_sign):
            mine = directions[torch.from_numpy(part).to(directions.device)]
            distances = complete_linkage.cosine_distances(mine, either_sign=either_sign)
            merges = complete_linkage.complete_linkage(distances, len(part))
            pairs.append(part[_members(merges)])
            heights.append(merges[:, 2])
        # A stable order keeps a part's merges in theirs: what a merge joins is made before it.
        order = np.argsort(np.concatenate(heights), kind="stable")
        return cls(directions.shape[0], np.concatenate(pairs)[order])

    def cut(self, size: int) -> np.ndarray:
        """[n] the tree of every vector after the first n - size merges."""
        first, second = self._pairs[: max(0, self._n - size)].T
        graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(self._n, self._n))
        labels: np.ndarray = connected_components(graph, directed=False)[1]
        return labels


def _members(merges: np.ndarray) -> np.ndarray:
    """[n - 1, 4] merges -> [n - 1, 2] one vector of each of the two that are merged."""
    n = len(merges) + 1
    member = np.concatenate([np.arange(n), np.empty(n - 1, dtype=np.int64)])
    joined = merges[:, :2].astype(np.int64)
    for number, (left, _) in enumerate(joined.tolist(), start=n):
        member[number] = member[left]
    return member[joined]


def parts(directions: Float[Tensor, "n d_model"], *, most: int, either_sign: bool = False) -> list[np.ndarray]:
    """Indices of parts of at most `most` vectors, cut in two again and again where two means part them [ours].

    With `either_sign` each is turned to the side of the axis along which they spread most, before they are cut.
    """
    waiting, done = [torch.arange(directions.shape[0], device=directions.device)], []
    while waiting:
        part = waiting.pop()
        if len(part) <= most:
            done.append(part.cpu().numpy())
        else:
            vectors = directions[part]
            side, n_first = _halves(_to_one_side(vectors) if either_sign else vectors)
            waiting += [part[side[n_first:]].sort().values, part[side[:n_first]].sort().values]
    return done


def _to_one_side(vectors: Float[Tensor, "n d_model"]) -> Float[Tensor, "n d_model"]:
    """[n d_model] the vectors, or their negatives, whose products with the axis of largest spread are not negative.

    Products of coordinates do not know a vector's sign, and so the axis does not.
    """
    axis = torch.linalg.eigh(vectors.double().T @ vectors.double()).eigenvectors[:, -1]
    return torch.where((vectors.double() @ axis < 0)[:, None], -vectors, vectors)


def _halves(vectors: Float[Tensor, "n d_model"]) -> tuple[Tensor, int]:
    """Two-means of directions, from two that are far apart: an order of the vectors, and how many come to one side."""
    n = vectors.shape[0]
    one = vectors[(vectors @ vectors.mean(0)).argmin()]
    axis = one - vectors[(vectors @ one).argmin()]
    for _ in range(_ROUNDS):
        is_one = vectors @ axis > 0
        if bool(is_one.all()) or not bool(is_one.any()):
            break
        axis = torch.nn.functional.normalize(vectors[is_one].sum(0), dim=0)
        axis = axis - torch.nn.functional.normalize(vectors[~is_one].sum(0), dim=0)
    along = vectors @ axis
    least = max(1, int(n * _SMALLEST_SHARE))
    n_first = min(max(int((along <= 0).sum()), least), n - least)
    return along.sort(stable=True).indices, n_first


def turned(
    directions: Float[Tensor, "n d_model"], labels: np.ndarray, unembedding: Float[Tensor, "vocab d_model"]
) -> Float[Tensor, " n"]:
    """[n] 1 or -1: the sign at which each vector adds to what its cluster has in common [ours].

    The sum of the cluster points to where the scores of tokens have their longer tail. Neither that nor the agreement
    depends on how vectors were signed.
    """
    signs, centres = agreeing(directions, labels)
    where = torch.as_tensor(labels, device=directions.device)
    lengths = torch.linalg.vector_norm(centres, dim=1, keepdim=True)
    for start in range(0, len(centres), _CENTRES):
        block = centres[start : start + _CENTRES] / lengths[start : start + _CENTRES].clamp_min(1e-30)
        scores = block @ unembedding.T
        third = (scores - scores.mean(1, keepdim=True)).pow_(3).mean(1)
        lengths[start : start + _CENTRES, 0] = torch.where(third < 0, -1.0, 1.0)
    result: Tensor = signs * lengths[where, 0]
    return result


def agreeing(
    directions: Float[Tensor, "n d_model"], labels: np.ndarray
) -> tuple[Float[Tensor, " n"], Float[Tensor, "clusters d_model"]]:
    """[n] 1 or -1: signs at which each vector agrees with the sum of its cluster; [clusters d_model] these sums [ours].

    They are turned until all agree, beginning with the cluster's first vector.
    """
    where = torch.as_tensor(labels, device=directions.device)
    _, first = np.unique(labels, return_index=True)
    centres = directions[torch.from_numpy(first).to(directions.device)]
    signs = torch.ones(len(where), dtype=directions.dtype, device=directions.device)
    for _ in range(_ROUNDS):
        before = signs
        signs = torch.where((directions * centres[where]).sum(1) < 0, -1.0, 1.0).to(directions.dtype)
        centres = _added_(torch.zeros_like(centres), where, directions * signs[:, None])
        if torch.equal(signs, before):
            break
    return signs, centres


def _added_(
    sums: Float[Tensor, "clusters d_model"], where: Int[Tensor, " n"], rows: Float[Tensor, "n d_model"]
) -> Float[Tensor, "clusters d_model"]:
    """Add each row to the sum of its cluster, in an order that is always the same."""
    if sums.device.type == "cpu":
        return sums.index_add_(0, where, rows)
    # There `index_add_` adds in whatever order its threads come, and this sorts first.
    return sums.index_put_((where,), rows, accumulate=True)


def centre_cosines(
    directions: Float[Tensor, "n d_model"],
    labels: Sequence[int] | np.ndarray,
    *,
    signs: Float[Tensor, " n"] | None = None,
) -> np.ndarray:
    """[n] float64: cosine of each direction with the sum of its cluster's directions; nan for one without direction.

    These say how tight a cluster is: their sum is the length of the sum of its directions. With `signs` the directions
    are summed at these.
    """
    where = torch.as_tensor(np.asarray(labels), device=directions.device)
    n_clusters = int(where.max()) + 1
    sums = torch.zeros(n_clusters, directions.shape[1], dtype=torch.float64, device=directions.device)
    cosines = torch.empty(directions.shape[0], dtype=torch.float64, device=directions.device)
    blocks = [slice(start, start + COLUMN_VECTORS) for start in range(0, len(where), COLUMN_VECTORS)]
    for block in blocks:
        rows = directions[block].double()
        _added_(sums, where[block], rows if signs is None else rows * signs[block, None])
    lengths = torch.linalg.vector_norm(sums, dim=1)
    for block in blocks:
        rows, into = directions[block].double(), where[block]
        products = (rows * sums[into]).sum(1) / lengths[into].clamp_min(1e-300)
        cosines[block] = torch.where((rows != 0).any(1), products, torch.nan)
    result: np.ndarray = cosines.cpu().numpy()
    return result


def cohesions(
    directions: Float[Tensor, "n d_model"], labels: np.ndarray, *, either_sign: bool = False
) -> Float[np.ndarray, " several"]:
    """[several] float64: mean cosine over the pairs of each cluster of at least two directions, all of length 1.

    With `either_sign` each direction is taken at the sign that agrees with its cluster's sum. The cosines with the sum
    add up to its length, whose square is the sum over all pairs, and the directions with themselves.
    """
    sizes = np.bincount(labels)
    signs = agreeing(directions, labels)[0] if either_sign else None
    cosines = centre_cosines(directions, labels, signs=signs)
    lengths = np.bincount(labels, weights=np.abs(cosines) if either_sign else cosines)
    is_several = sizes > 1
    sizes, lengths = sizes[is_several], lengths[is_several]
    result: np.ndarray = (lengths * lengths - sizes) / (sizes * (sizes - 1))
    return result
