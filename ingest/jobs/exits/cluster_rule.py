"""Early exit by sub-update clusters: leave where the dominant neurons are those of examples that saturate ([G] 6.2)."""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Int
from scipy import sparse

from neurothek.ingest.jobs.exits.splits import Split

Similarity = Literal["ranks", "sets"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)

NOBODY = -1
"""Where a layer has fewer neurons than are dominant, the last places of a list."""

# Similarities of so many examples to all others exist at once: to 9,000 others they are 5 MB.
_EXAMPLES_AT_ONCE = 256

Tried = Int[np.ndarray, "tried places"]
Learned = Int[np.ndarray, "learned places"]


def cluster_exit_layers(
    lists: Int[np.ndarray, "n_layers examples places"],
    saturation: Int[np.ndarray, " examples"],
    split: Split,
    *,
    similarity: Similarity = "ranks",
) -> Int[np.ndarray, " test"]:
    """[test] the layer after which each example to be tried is left, the last one where the rule never says so.

    An example is left after the first layer l at which both the largest and the mean similarity of its list to those of
    examples saturating at l beat, strictly, the same to those saturating at j, for every j > l that has any.

    Args:
        lists: cluster ids of the dominant neurons of each layer, by contribution.
        saturation: where each example saturates.
        split: which examples are learned from, and which are tried.
        similarity: ranks: places with the same id [code]; sets: ids in both lists [G].
    """
    last = len(lists) - 1
    found = np.full(len(split.test), last, dtype=np.int64)
    waiting = np.arange(len(split.test))
    # By saturation layer, so that each layer's examples lie together.
    learned = split.train[np.argsort(saturation[split.train], kind="stable")]
    for layer in range(last):
        there = learned[saturation[learned] >= layer]
        if len(there) == 0 or saturation[there[0]] != layer:
            continue
        tried = lists[layer, split.test[waiting]]
        leaves = _leaves(tried, lists[layer, there], saturation[there], similarity)
        found[waiting[leaves]] = layer
        waiting = waiting[~leaves]
    return found


def _leaves(
    tried: Tried, learned: Learned, saturation: Int[np.ndarray, " learned"], similarity: Similarity
) -> Bool[np.ndarray, " tried"]:
    """Whether each list is more like those of the first saturation layer than like those of every later one."""
    starts = np.flatnonzero(np.diff(saturation, prepend=saturation[0] - 1))
    sizes = np.diff(starts, append=len(saturation))
    n_ids = 1 + max(int(tried.max(initial=0)), int(learned.max()))
    theirs = _members(learned, n_ids, similarity).T
    found = np.empty(len(tried), dtype=bool)
    for start in range(0, len(tried), _EXAMPLES_AT_ONCE):
        some = slice(start, start + _EXAMPLES_AT_ONCE)
        similarities = (_members(tried[some], n_ids, similarity) @ theirs).toarray()
        largest = np.maximum.reduceat(similarities, starts, axis=1)
        # Sums are whole numbers, so that equal means are equal quotients.
        means = np.add.reduceat(similarities, starts, axis=1, dtype=np.int64) / sizes
        beaten = (largest[:, :1] > largest[:, 1:]) & (means[:, :1] > means[:, 1:])
        found[some] = beaten.all(axis=1)
    return found


def _members(lists: Int[np.ndarray, "lists places"], n_ids: int, similarity: Similarity) -> sparse.csr_array:
    """[lists members] 1 for each member of a list, so that products count what two lists share.

    Members are ids, once however often they stand there, or pairs of a place and its id.
    """
    rows, places = np.nonzero(lists != NOBODY)
    ids = lists[rows, places].astype(np.int64)
    if similarity == "ranks":
        ids += places * n_ids
    found = sparse.csr_array((np.ones(len(rows), np.int16), (rows, ids)), (len(lists), n_ids * lists.shape[1]))
    found.data[:] = 1
    return found
