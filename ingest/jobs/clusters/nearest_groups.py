"""Groups of directions at the distance of their two most distant members, and which of them are nearest."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.jobs.clusters import complete_linkage
from neurothek.ingest.numerics.parallel import share

ROW_VECTORS, COLUMN_VECTORS = 1024, 8192
"""Vectors whose cosines are held at once, by each thread."""

_ONE_BY_ONE = 8
"""Members of groups that are looked at one after the other, of all groups at once; the rest of larger ones together."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Directions by group, groups numbered from 0."""

    directions: Float[Tensor, "n d_model"]  # as they are given
    vectors: Float[Tensor, "n d_model"]  # the same by group
    order: np.ndarray  # int64 [n], the directions' numbers by group, rising in each
    starts: np.ndarray  # int64 [groups + 1], where each group begins in `order`, and its end
    either_sign: bool  # whether a vector and its negative are one

    @classmethod
    def of(
        cls,
        directions: Float[Tensor, "n d_model"],
        labels: np.ndarray,
        *,
        either_sign: bool,
        earlier: "Groups | None" = None,
    ) -> "Groups":
        """The groups of int64 [n] `labels`, none of which is empty.

        Args:
            directions: what is grouped.
            labels: the group of each.
            either_sign: whether a vector and its negative are one.
            earlier: groups of the same directions that nobody needs any more: their memory is used.
        """
        order = np.argsort(labels, kind="stable")
        vectors = torch.empty_like(directions) if earlier is None else earlier.vectors
        torch.index_select(directions, 0, torch.from_numpy(order).to(directions.device), out=vectors)
        starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
        return cls(directions, vectors, order, starts, either_sign)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def first_members(self) -> np.ndarray:
        """int64 [groups] the first direction of each."""
        members: np.ndarray = self.order[self.starts[:-1]]
        return members

    def distances(self) -> np.ndarray:
        """Float64 [groups (groups - 1) / 2] 1 - cosine of the two most distant members, condensed as by scipy."""
        n = len(self)
        distances = np.empty(n * (n - 1) // 2)
        columns = self._runs(COLUMN_VECTORS)

        def work(mine: Iterator[range]) -> None:
            with torch.inference_mode():
                for rows in mine:
                    for others in columns:
                        if others.stop > rows.start:
                            self._fill(distances, rows, others)

        share(self._runs(ROW_VECTORS), work, workers=complete_linkage.workers_on(self.directions.device))
        return distances

    def nearest(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(int64, float64): the nearest other group of each of these, of equals the first, and its distance."""
        places, distances = np.zeros(len(numbers), dtype=np.int64), np.full(len(numbers), np.inf)
        sizes = np.diff(self.starts)[numbers]
        runs = _runs(np.concatenate([[0], np.cumsum(sizes)]), ROW_VECTORS)
        columns = self._runs(COLUMN_VECTORS)

        def work(mine: Iterator[range]) -> None:
            with torch.inference_mode():
                for run in mine:
                    rows = numbers[run.start : run.stop]
                    for others in columns:
                        self._note_nearer(places, distances, run, rows, others)

        share(runs, work, workers=complete_linkage.workers_on(self.directions.device))
        return places, distances

    def _runs(self, vectors: int) -> list[range]:
        return _runs(self.starts, vectors)

    def _fill(self, distances: np.ndarray, rows: range, columns: range) -> None:
        """Write the distances between a run of groups and those of another run that come after them."""
        farthest = self._between(np.arange(rows.start, rows.stop), columns)
        n = len(self)
        for offset, row in enumerate(rows):
            begin = max(row + 1, columns.start)
            if begin < columns.stop:
                first = complete_linkage.place(row, n) + begin - row - 1
                distances[first : first + columns.stop - begin] = farthest[offset, begin - columns.start :]

    def _note_nearer(
        self, places: np.ndarray, distances: np.ndarray, run: range, rows: np.ndarray, columns: range
    ) -> None:
        """Note which groups of a run of columns are nearer to `rows`, those of `run`, than what was seen before."""
        between = self._between(rows, columns)
        is_own = (rows >= columns.start) & (rows < columns.stop)
        between[is_own, rows[is_own] - columns.start] = np.inf
        nearest = between.argmin(axis=1)
        least = between[np.arange(len(rows)), nearest]
        mine = slice(run.start, run.stop)
        is_nearer = least < distances[mine]
        places[mine][is_nearer] = columns.start + nearest[is_nearer]
        distances[mine][is_nearer] = least[is_nearer]

    def _between(self, rows: np.ndarray, columns: range) -> np.ndarray:
        """Float32 [rows columns] the distances between groups and those of a run."""
        starts, stops = self.starts[rows], self.starts[rows + 1]
        if len(rows) == rows[-1] - rows[0] + 1:
            mine = self.vectors[starts[0] : stops[-1]]
        else:
            inside = np.concatenate([np.arange(start, stop) for start, stop in zip(starts, stops, strict=True)])
            mine = self.vectors[torch.from_numpy(inside).to(self.vectors.device)]
        theirs = self.vectors[self.starts[columns.start] : self.starts[columns.stop]]
        cosines = (mine @ theirs.T).cpu().numpy()
        if self.either_sign:
            np.abs(cosines, out=cosines)
        # Reducing over the first axis is quick: whole rows are compared at once.
        least = _least(cosines, stops - starts)
        if len(theirs) > len(columns):
            sizes = np.diff(self.starts[columns.start : columns.stop + 1])
            least = _least(np.ascontiguousarray(least.T), sizes).T
        farthest: np.ndarray = np.maximum(1 - least, 0)
        return farthest


def _least(rows: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The least of so many rows after each other.

    Most groups are small: the second rows of those that have one, then the third ones, are a few whole-row operations,
    while `reduceat` takes as long as the product that the rows come from.
    """
    if len(rows) == len(sizes):
        return rows
    starts = np.cumsum(sizes) - sizes
    least: np.ndarray = rows[starts]
    larger, number = np.flatnonzero(sizes > 1), 1
    while len(larger) and number < _ONE_BY_ONE:
        least[larger] = np.minimum(least[larger], rows[starts[larger] + number])
        number += 1
        larger = larger[sizes[larger] > number]
    for group in larger:
        rest = rows[starts[group] + number : starts[group] + sizes[group]]
        np.minimum(least[group], rest.min(axis=0), out=least[group])
    return least


def _runs(starts: np.ndarray, vectors: int) -> list[range]:
    """Runs of whole groups of about so many vectors; a larger group is a run of its own."""
    n, runs, first = len(starts) - 1, list[range](), 0
    while first < n:
        last = int(np.searchsorted(starts, starts[first] + vectors, side="right")) - 1
        runs.append(range(first, min(n, max(last, first + 1))))
        first = runs[-1].stop
    return runs


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest other group of every group."""

    groups: Groups
    places: np.ndarray  # int64 [groups], which is nearest
    distances: np.ndarray  # float64 [groups], how far it is

    @classmethod
    def of(cls, groups: Groups) -> "Nearest":
        """Look through all pairs; there are at least two groups."""
        return cls(groups, *groups.nearest(np.arange(len(groups))))

    def reciprocal(self) -> np.ndarray:
        """int64 [pairs 2] groups that are nearest to each other, the lower first: one pair at least."""
        numbers = np.arange(len(self.places))
        is_first = (self.places[self.places] == numbers) & (numbers < self.places)
        # Roundings differ from block to block: of nearly equal distances each group may take another.
        first = np.flatnonzero(is_first) if is_first.any() else np.array([self.distances.argmin()])
        pairs: np.ndarray = np.sort(np.stack([first, self.places[first]], axis=1), axis=1)
        return pairs

    def after(self, pairs: np.ndarray) -> tuple[Groups, "Nearest"]:
        """The groups when these pairs are one each, and their nearest; those before are of no use any more.

        What was nearest to a group stays so unless it was merged: merging takes groups farther away.
        """
        n = len(self.places)
        into = np.arange(n)
        into[pairs[:, 1]] = pairs[:, 0]
        is_left = into == np.arange(n)
        number = (np.cumsum(is_left) - 1)[into]
        labels = np.empty(len(self.groups.order), dtype=np.int64)
        labels[self.groups.order] = np.repeat(number, np.diff(self.groups.starts))
        before = self.groups
        groups = Groups.of(before.directions, labels, either_sign=before.either_sign, earlier=before)
        is_merged = np.zeros(n, dtype=np.bool_)
        is_merged[pairs] = True
        is_stale = (is_merged | is_merged[self.places])[is_left]
        places, distances = number[self.places][is_left], self.distances[is_left]
        numbers = np.flatnonzero(is_stale)
        places[numbers], distances[numbers] = groups.nearest(numbers)
        return groups, Nearest(groups, places, distances)
