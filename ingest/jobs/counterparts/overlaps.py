"""How far lists of tokens overlap: the weighted overlap of every pair of two sets of neurons, and the best of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from jaxtyping import Float, Int

from neurothek.ingest.numerics.parallel import mapped

BLOCK = 1024
"""Neurons of either set that are compared at once."""

_UNIT = 2.0**46
"""Weights are whole numbers of 2^-46, so that their sums are exact in whatever order they are added: an overlap is the
same from either side, and equal ones are equal. That changes an overlap by less than 1e-13."""


def rank_weights(k: int) -> Int[np.ndarray, " k"]:
    """[k] what a token weighs at each rank, 1 / log2(1 + rank) [ours], in units of 2^-46."""
    return np.rint(_UNIT / np.log2(1 + np.arange(1, k + 1))).astype(np.int64)


@dataclass(frozen=True)
class Best:
    """For each neuron of one set its best of another, best first, ties by place."""

    places: Int[np.ndarray, "n k"]  # [n k] places in the other set; -1 where it shares no listed token with any more
    # [n k] the weight that both give to the tokens that they share, in units of 2^-46; 0 there
    shared: Int[np.ndarray, "n k"]

    @classmethod
    def none(cls, n: int, k: int) -> "Best":
        """Of a set that has no other yet."""
        return cls(np.full((n, k), -1, dtype=np.int64), np.zeros((n, k), dtype=np.int64))

    @classmethod
    def joined(cls, parts: Sequence["Best"]) -> "Best":
        """One set after the other."""
        return cls(np.concatenate([part.places for part in parts]), np.concatenate([part.shared for part in parts]))

    def or_later(self, later: "Best", *, first: int) -> "Best":
        """The best of this and of what lies after it: `later` counts its places from `first`."""
        moved = np.where(later.places < 0, -1, later.places + first)
        places = np.concatenate([self.places, moved], axis=1)
        shared = np.concatenate([self.shared, later.shared], axis=1)
        order = np.argsort(-shared, axis=1, kind="stable")[:, : self.places.shape[1]]
        return Best(np.take_along_axis(places, order, axis=1), np.take_along_axis(shared, order, axis=1))

    def first(self) -> "Best":
        """The best alone."""
        return Best(self.places[:, :1], self.shared[:, :1])

    def part(self, number: int, size: int) -> "Best":
        """Of the neurons of one part, where they come in parts of one size."""
        rows = slice(number * size, (number + 1) * size)
        return Best(self.places[rows], self.shared[rows])

    def overlaps(self, k: int, other_k: int) -> Float[np.ndarray, "n best"]:
        """[n best] the weight that both give over the weight that either gives, for lists of `k` and `other_k`."""
        whole = 2 * (int(rank_weights(k).sum()) + int(rank_weights(other_k).sum()))
        overlaps: np.ndarray = self.shared / (whole - self.shared)
        return overlaps


def best_of_each_other(
    one: Int[np.ndarray, "n 2 k"], *others: Int[np.ndarray, "_ 2 other_k"], n_best: int, either_sign: bool = False
) -> list[tuple[Best, Best]]:
    """For each neuron of a set the `n_best` of another whose lists share most weight with its own, and the reverse.

    Args:
        one: [n 2 k] ids of the tokens that each neuron promotes and suppresses, best first.
        others: [m 2 other_k] likewise; with each of them it is compared by itself.
        n_best: how many are kept.
        either_sign: whether a neuron is compared at opposite signs, too, where one promotes what the other suppresses.

    Returns:
        For each of the others the best of it for `one`, and the best of `one` for it.
    """
    forth: list[list[Best]] = [[] for _ in others]
    back = [Best.none(len(other), n_best) for other in others]
    for first in range(0, len(one), BLOCK):
        listed = _Listed.of(one[first : first + BLOCK], width=others[0].shape[2])
        for number, other in enumerate(others):
            mine, theirs = _compared(listed, other, n_best, either_sign=either_sign)
            forth[number].append(mine)
            back[number] = back[number].or_later(theirs, first=first)
    return [(Best.joined(mine), theirs) for mine, theirs in zip(forth, back, strict=True)]


def _compared(
    listed: "_Listed", other: Int[np.ndarray, "m 2 other_k"], n_best: int, *, either_sign: bool
) -> tuple[Best, Best]:
    starts = range(0, len(other), BLOCK)

    def compare(start: int) -> tuple[Best, Best]:
        block = other[start : start + BLOCK]
        shared = listed.shared_with(block)
        if either_sign:
            np.maximum(shared, listed.shared_with(np.ascontiguousarray(block[:, ::-1])), out=shared)
        weights = torch.from_numpy(shared)
        return _best_of_rows(weights.T, n_best), _best_of_rows(weights, n_best)

    blocks = mapped(compare, starts, device=torch.device("cpu"))
    mine = Best.none(listed.matrix.shape[1], n_best)
    for start, (best, _) in zip(starts, blocks, strict=True):
        mine = mine.or_later(best, first=start)
    return mine, Best.joined([theirs for _, theirs in blocks])


@dataclass(frozen=True, eq=False)
class _Listed:
    """Which neurons list a token, and what they share of it with one that lists it at any rank."""

    # the tokens by side that any of them lists, ascending: 2 * token, and one more where it is suppressed
    keys: Int[np.ndarray, " keys"]
    matrix: scipy.sparse.csr_array  # [keys * width, n] the smaller of two weights, by key and the other neuron's rank
    width: int  # how many ranks the other's lists have

    @classmethod
    def of(cls, tokens: Int[np.ndarray, "n 2 k"], *, width: int) -> "_Listed":
        n, _, k = tokens.shape
        flat = _keys(tokens).ravel()
        order = np.argsort(flat, kind="stable").astype(np.int32)
        keys, starts, sizes = np.unique(flat[order], return_index=True, return_counts=True)
        # A key has a row for every rank, and each of them has the neurons that list it.
        in_row = np.repeat(sizes, width)
        ends = _ends(in_row)
        entries = order[np.arange(ends[-1], dtype=np.int32) - np.repeat(ends[:-1] - np.repeat(starts, width), in_row)]
        ranks = np.repeat(np.tile(np.arange(width, dtype=np.int32), len(keys)), in_row)
        # Of two weights that of the later rank is smaller.
        smaller = rank_weights(max(k, width))[np.maximum(entries % k, ranks)]
        matrix = scipy.sparse.csr_array((smaller, entries // (2 * k), ends), shape=(len(keys) * width, n))
        return cls(keys, matrix, width)

    def shared_with(self, tokens: Int[np.ndarray, "m 2 width"]) -> Int[np.ndarray, "m n"]:
        """[m n] the weight that each pair of neurons shares."""
        keys = _keys(tokens).reshape(len(tokens), -1)
        places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        is_listed = self.keys[places] == keys
        columns = (places * self.width + np.tile(np.arange(self.width), 2))[is_listed].astype(np.int32)
        listing = scipy.sparse.csr_array(
            (np.ones(len(columns), dtype=np.int64), columns, _ends(is_listed.sum(1))),
            shape=(len(tokens), self.matrix.shape[0]),
        )
        shared: np.ndarray = (listing @ self.matrix).toarray()
        return shared


def _keys(tokens: Int[np.ndarray, "n 2 k"]) -> Int[np.ndarray, "n 2 k"]:
    keys: np.ndarray = 2 * tokens.astype(np.int64) + np.array([0, 1])[:, None]
    return keys


def _ends(sizes: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " bounds"]:
    ends: np.ndarray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return ends


def _best_of_rows(shared: Int[torch.Tensor, "m n"], k: int) -> Best:
    """For each row the `k` columns of the largest numbers."""
    n = shared.shape[1]
    # A number and its place in one, the earlier place the larger: no two are equal, and the order is theirs.
    packed = shared * BLOCK + torch.arange(BLOCK - 1, BLOCK - 1 - n, -1)
    codes = packed.contiguous().topk(min(k, n), dim=1).values.numpy()
    places, values = BLOCK - 1 - codes % BLOCK, codes // BLOCK
    return Best(np.where(values > 0, places, -1), values)
