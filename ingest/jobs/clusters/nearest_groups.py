"""Groups of directions at the distance of their two most distant members, and which of them are nearest."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.jobs.clusters import complete_linkage
from neurothek.ingest.numerics.parallel import share

ROW_VECTORS, COLUMN_VECTORS = 1024, 8192
"""Vectors whose cosines are held at once, by each thread."""

_ONE_BY_ONE = 8
"""Members of groups that are looked at one after the other, of all groups at once; the rest of larger ones together."""


def by_size(labels: np.ndarray) -> np.ndarray:
    """int64 [n] the same groups, numbered anew: the larger first, of equals the one with the lower label."""
    sizes = np.bincount(labels)
    number = np.empty(len(sizes), dtype=np.int64)
    number[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    renumbered: np.ndarray = number[labels]
    return renumbered


@dataclass(frozen=True, eq=False)
class Groups:
    """Directions by group; groups are numbered from 0, the larger first."""

    directions: Float[Tensor, "n d_model"]  # as they are given
    members: np.ndarray  # int64 [n], the directions' numbers by group, rising in each
    starts: np.ndarray  # int64 [groups + 1], where each group begins in `members`, and its end
    columns: tuple[range, ...]  # runs of groups of about `COLUMN_VECTORS` directions
    vectors: Float[Tensor, "n d_model"]  # the directions of each run of columns in the order of `_Reduction`
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
        """The groups of int64 [n] `labels` as `by_size` gives them.

        Args:
            directions: what is grouped.
            labels: the group of each.
            either_sign: whether a vector and its negative are one.
            earlier: groups of the same directions that nobody needs any more: their memory is used.
        """
        sizes = np.bincount(labels)
        assert (sizes[1:] <= sizes[:-1]).all()
        members, starts = np.argsort(labels, kind="stable"), np.concatenate([[0], np.cumsum(sizes)])
        columns = tuple(_runs(sizes, COLUMN_VECTORS))
        order = np.concatenate([_Reduction.of(starts, np.arange(run.start, run.stop)).order for run in columns])
        vectors = torch.empty_like(directions) if earlier is None else earlier.vectors
        torch.index_select(directions, 0, torch.from_numpy(members[order]).to(directions.device), out=vectors)
        return cls(directions, members, starts, columns, vectors, either_sign)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def first_members(self) -> np.ndarray:
        """int64 [groups] the first direction of each."""
        first: np.ndarray = self.members[self.starts[:-1]]
        return first

    def distances(self) -> np.ndarray:
        """Float64 [groups (groups - 1) / 2] 1 - cosine of the two most distant members, condensed as by scipy."""
        n = len(self)
        distances = np.empty(n * (n - 1) // 2)

        def work(mine: Iterator[range]) -> None:
            with torch.inference_mode():
                for rows in mine:
                    for others in self.columns:
                        if others.stop > rows.start:
                            self._fill(distances, rows, others)

        self._share(np.arange(n), work)
        return distances

    def nearest(self, numbers: np.ndarray) -> "NearestSoFar":
        """The nearest other group of each of these, which rise."""
        closest = NearestSoFar.unknown(len(numbers), self.vectors.device)

        def work(mine: Iterator[range]) -> None:
            with torch.inference_mode():
                for run in mine:
                    for others in self.columns:
                        closest.note(run, others.start, self._apart(numbers[run.start : run.stop], others))

        self._share(numbers, work)
        return closest

    def all_nearest(self) -> "NearestSoFar":
        """The same of all groups: the cosines of two are computed once."""
        closest, lock = NearestSoFar.unknown(len(self), self.vectors.device), Lock()

        def work(mine: Iterator[range]) -> None:
            with torch.inference_mode():
                for rows in mine:
                    for others in self.columns:
                        if others.stop > rows.start:
                            apart = self._apart(np.arange(rows.start, rows.stop), others)
                            with lock:
                                closest.note(rows, others.start, apart)
                                closest.note(others, rows.start, apart.T)

        self._share(np.arange(len(self)), work)
        return closest

    def _share(self, numbers: np.ndarray, work: Callable[[Iterator[range]], None]) -> None:
        """Hand runs of these groups to threads."""
        runs = _runs(np.diff(self.starts)[numbers], ROW_VECTORS)
        share(runs, work, workers=complete_linkage.workers_on(self.directions.device))

    def _fill(self, distances: np.ndarray, rows: range, columns: range) -> None:
        """Write the distances between a run of groups and those of another run that come after them."""
        least = self._least_cosines(np.arange(rows.start, rows.stop), columns)
        farthest = least.neg_().add_(1).clamp_min_(0).cpu().numpy()
        n = len(self)
        for offset, row in enumerate(rows):
            begin = max(row + 1, columns.start)
            if begin < columns.stop:
                first = complete_linkage.place(row, n) + begin - row - 1
                distances[first : first + columns.stop - begin] = farthest[offset, begin - columns.start :]

    def _apart(self, rows: np.ndarray, columns: range) -> Float[Tensor, "rows columns"]:
        """[rows columns] the cosines of the most distant members of groups and of those of a run, no group's own."""
        least = self._least_cosines(rows, columns)
        is_own = np.flatnonzero((rows >= columns.start) & (rows < columns.stop))
        cells = torch.from_numpy(np.stack([is_own, rows[is_own] - columns.start])).to(least.device)
        least[cells[0], cells[1]] = -torch.inf
        return least

    def _least_cosines(self, rows: np.ndarray, columns: range) -> Float[Tensor, "rows columns"]:
        """[rows columns] the cosines of the most distant members."""
        of_rows = _Reduction.of(self.starts, rows)
        of_columns = _Reduction.of(self.starts, np.arange(columns.start, columns.stop))
        mine = self.directions[torch.from_numpy(self.members[of_rows.order]).to(self.directions.device)]
        cosines = mine @ self.vectors[self.starts[columns.start] : self.starts[columns.stop]].T
        if self.either_sign:
            cosines.abs_()
        return of_columns.least_(of_rows.least_(cosines).T).T


@dataclass(frozen=True, eq=False)
class _Reduction:
    """An order of the members of groups in which the least of each group are the least of a few blocks of rows.

    First the first members of all groups, then the second ones of those that have one, which are the first groups,
    since the larger come first; behind the last of these blocks the other members, group by group.
    """

    order: np.ndarray  # int64 [members], places in `Groups.members`
    blocks: tuple[int, ...]  # how many groups have a first, a second, ... member
    rests: tuple[int, ...]  # how many members more the first groups have

    @classmethod
    def of(cls, starts: np.ndarray, rows: np.ndarray) -> "_Reduction":
        """Of these groups, the larger first."""
        sizes = starts[rows + 1] - starts[rows]
        blocks = tuple(int(np.count_nonzero(sizes > k)) for k in range(min(_ONE_BY_ONE, sizes[0])))
        rests = sizes[sizes > _ONE_BY_ONE] - _ONE_BY_ONE
        parts = [starts[rows[:n]] + k for k, n in enumerate(blocks)]
        parts += [starts[row] + _ONE_BY_ONE + np.arange(rest) for row, rest in zip(rows, rests, strict=False)]
        return cls(np.concatenate(parts), blocks, tuple(rests.tolist()))

    def least_(self, rows: Float[Tensor, "members columns"]) -> Float[Tensor, "groups columns"]:
        """[groups columns] the least of each group, in the place of the first members."""
        least, start = rows[: self.blocks[0]], self.blocks[0]
        for n in self.blocks[1:]:
            torch.minimum(least[:n], rows[start : start + n], out=least[:n])
            start += n
        for group, n in enumerate(self.rests):
            torch.minimum(least[group], rows[start : start + n].amin(0), out=least[group])
            start += n
        return least


def _runs(sizes: np.ndarray, vectors: int) -> list[range]:
    """Runs of whole groups of about so many vectors; a larger group is a run of its own."""
    starts, runs, first = np.concatenate([[0], np.cumsum(sizes)]), list[range](), 0
    while first < len(sizes):
        last = int(np.searchsorted(starts, starts[first] + vectors, side="right")) - 1
        runs.append(range(first, min(len(sizes), max(last, first + 1))))
        first = runs[-1].stop
    return runs


@dataclass(frozen=True, eq=False)
class NearestSoFar:
    """What is nearest to each of some groups, of all that was noted."""

    cosines: Float[Tensor, " rows"]  # the least cosine of members, -inf where nothing was noted
    places: Int[Tensor, " rows"]  # the group

    @classmethod
    def unknown(cls, n: int, device: torch.device) -> "NearestSoFar":
        """Nothing noted yet."""
        return cls(torch.full((n,), -torch.inf, device=device), torch.zeros(n, dtype=torch.int64, device=device))

    def note(self, rows: range, first: int, cosines: Float[Tensor, "rows columns"]) -> None:
        """Take in [rows columns] the cosines of a run of these with groups from `first` on."""
        highest = cosines.amax(1)
        # The place alone takes four times as long, and few are nearer than all before.
        (nearer,) = (highest > self.cosines[rows.start : rows.stop]).nonzero(as_tuple=True)
        self.cosines[rows.start + nearer] = highest[nearer]
        self.places[rows.start + nearer] = first + cosines[nearer].argmax(1)

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(int64, float64): the groups, and how far they are."""
        distances = (1 - self.cosines).clamp_min_(0)
        return self.places.cpu().numpy(), distances.double().cpu().numpy()


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest other group of every group."""

    groups: Groups
    places: np.ndarray  # int64 [groups], which is nearest
    distances: np.ndarray  # float64 [groups], how far it is

    @classmethod
    def of(cls, groups: Groups) -> "Nearest":
        """Look through all pairs; there are at least two groups."""
        return cls(groups, *groups.all_nearest().result())

    def reciprocal(self) -> np.ndarray:
        """int64 [pairs 2] groups that are nearest to each other, the lower first: one pair at least."""
        numbers = np.arange(len(self.places))
        is_first = (self.places[self.places] == numbers) & (numbers < self.places)
        # Roundings differ from block to block: of nearly equal distances each group may take another.
        first = np.flatnonzero(is_first) if is_first.any() else np.array([self.distances.argmin()])
        pairs: np.ndarray = np.sort(np.stack([first, self.places[first]], axis=1), axis=1)
        return pairs

    def merged(self, pairs: np.ndarray) -> Groups:
        """The groups when these pairs are one each; those before cannot be held against each other any more."""
        before, n = self.groups, len(self.places)
        into = np.arange(n)
        into[pairs[:, 1]] = pairs[:, 0]
        labels = np.empty(len(before.members), dtype=np.int64)
        labels[before.members] = np.repeat((np.cumsum(into == np.arange(n)) - 1)[into], np.diff(before.starts))
        return Groups.of(before.directions, by_size(labels), either_sign=before.either_sign, earlier=before)

    def after(self, pairs: np.ndarray, groups: Groups) -> "Nearest":
        """The nearest of the groups when these pairs are one each.

        What was nearest to a group stays so unless it was merged: merging takes groups farther away.
        """
        labels = np.empty(len(groups.members), dtype=np.int64)
        labels[groups.members] = np.repeat(np.arange(len(groups)), np.diff(groups.starts))
        number = labels[self.groups.first_members]
        is_merged = np.zeros(len(self.places), dtype=np.bool_)
        is_merged[pairs] = True
        is_stale = np.zeros(len(groups), dtype=np.bool_)
        is_stale[number] = is_merged | is_merged[self.places]
        places, distances = np.empty(len(groups), dtype=np.int64), np.empty(len(groups))
        places[number], distances[number] = number[self.places], self.distances
        stale = np.flatnonzero(is_stale)
        places[stale], distances[stale] = groups.nearest(stale).result()
        return Nearest(groups, places, distances)
