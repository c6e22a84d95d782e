"""Exact selection of the largest and smallest entries of every column of a tall matrix, in few passes over it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

End = Literal["largest", "smallest"]

# Rows are bounded in groups of 8 (fine), and those in groups of 8 (coarse): a column of 50,265 entries is then searched
# by looking at 785 coarse bounds, 400 fine bounds and 400 entries for its best 50.
GROUP = 8


@dataclass(frozen=True)
class Extremes:
    """The k extreme entries of each column, best first, ties by row."""

    rows: Int[Tensor, "columns k"]  # `[columns, k]` the rows that hold them, int64
    values: Float[Tensor, "columns k"]  # `[columns, k]` the entries

    def part(self, columns: slice) -> "Extremes":
        """Of some of the columns."""
        return Extremes(self.rows[columns], self.values[columns])

    @classmethod
    def joined(cls, parts: Sequence["Extremes"]) -> "Extremes":
        """The extremes of several matrices with the same rows, their columns side by side."""
        return cls(torch.cat([part.rows for part in parts]), torch.cat([part.values for part in parts]))


def group_count(rows: int) -> int:
    """How many fine groups `rows` rows fill; the rows after the last full group belong to none."""
    return rows // GROUP


def bound_groups_(
    bounds: Float[Tensor, "groups columns"], piece: Float[Tensor, "rows columns"], *, first_row: int, side: End
) -> None:
    """`[rows, columns]` -> in place, the bound of every full group of the piece, to be called while it is in cache.

    Args:
        bounds: one row a fine group of the whole matrix.
        piece: rows `first_row ...` of the matrix; only the matrix's last piece may end inside a group.
        first_row: a multiple of `GROUP`.
        side: which bound: the maximum of a group, or its minimum.
    """
    assert first_row % GROUP == 0
    first, count = first_row // GROUP, group_count(piece.shape[0])
    if count:
        grouped = piece[: count * GROUP].view(count, GROUP, piece.shape[1])
        reduce = torch.amax if side == "largest" else torch.amin
        reduce(grouped, dim=1, out=bounds[first : first + count])


def select(
    scores: Float[Tensor, "rows columns"], bounds: Float[Tensor, "groups columns"], *, k: int, side: End
) -> Extremes:
    """`[rows, columns]` -> the `k` extreme entries of each column, exactly, ties by row.

    The groups with the k + 1 best bounds hold the k best entries, unless an entry outside them equals the k-th best:
    that can be seen from the worst of these bounds, and such columns are searched entry by entry.

    Args:
        scores: a contiguous matrix.
        bounds: what `bound_groups_` made of all its rows.
        k: at most the number of rows.
        side: which extreme.
    """
    assert k <= scores.shape[0]
    if bounds.shape[0] // GROUP <= k or k == scores.shape[0]:
        return _select_among_all(scores, k=k, largest=side == "largest")
    return _select_by_groups(scores, bounds, k=k, largest=side == "largest")


def _select_by_groups(
    scores: Float[Tensor, "rows columns"], bounds: Float[Tensor, "groups columns"], *, k: int, largest: bool
) -> Extremes:
    n_coarse = bounds.shape[0] // GROUP
    coarse = bounds[: n_coarse * GROUP].view(n_coarse, GROUP, -1)
    coarse = (coarse.amax(1) if largest else coarse.amin(1)).T.contiguous()
    groups, limits = _best(coarse, k + 1, largest=largest)
    fine = _members(groups)
    groups, fine_limits = _best(_take(bounds, fine), k + 1, largest=largest)
    # Rows after the last full coarse group (at most 63) have no bound of their own: they are always looked at.
    rest = torch.arange(n_coarse * GROUP * GROUP, scores.shape[0], device=scores.device).expand(scores.shape[1], -1)
    candidates = torch.cat([_members(fine.gather(1, groups)), rest], dim=1)
    best = _take(scores, candidates).topk(k + 1, largest=largest)

    extremes = _order_ties(candidates.gather(1, best.indices[:, :k]), best.values[:, :k], largest=largest)
    left_out = torch.stack([limits, fine_limits, best.values[:, k]])
    return _search_entries(extremes, scores, (left_out == best.values[:, k - 1]).any(0), largest=largest)


def _best(
    bounds: Float[Tensor, "columns n"], k: int, *, largest: bool
) -> tuple[Int[Tensor, "columns k"], Float[Tensor, " columns"]]:
    """[columns n] -> the groups of the `k` best bounds, in no order, and a limit that no other group goes beyond."""
    best = bounds.topk(k, largest=largest, sorted=False)
    return best.indices, best.values.amin(1) if largest else best.values.amax(1)


def _select_among_all(scores: Float[Tensor, "rows columns"], *, k: int, largest: bool) -> Extremes:
    entries = scores.T.contiguous()
    order = entries.sort(dim=1, descending=largest, stable=True)
    return Extremes(rows=order.indices[:, :k].contiguous(), values=order.values[:, :k].contiguous())


def _members(groups: Int[Tensor, "columns n"]) -> Int[Tensor, "columns members"]:
    offsets = torch.arange(GROUP, device=groups.device)
    return (groups[:, :, None] * GROUP + offsets).flatten(1)


def _take(matrix: Float[Tensor, "rows columns"], rows: Int[Tensor, "columns n"]) -> Float[Tensor, "columns n"]:
    columns = torch.arange(matrix.shape[1], device=matrix.device)[:, None]
    return matrix.view(-1).take(rows * matrix.shape[1] + columns)


def _order_ties(rows: Int[Tensor, "columns k"], values: Float[Tensor, "columns k"], *, largest: bool) -> Extremes:
    if not bool((values[:, 1:] == values[:, :-1]).any()):
        return Extremes(rows=rows, values=values)
    by_row = rows.sort(dim=1)
    ordered = values.gather(1, by_row.indices).sort(dim=1, descending=largest, stable=True)
    return Extremes(rows=by_row.values.gather(1, ordered.indices), values=ordered.values)


def _search_entries(
    extremes: Extremes, scores: Float[Tensor, "rows columns"], undecided: Tensor, *, largest: bool
) -> Extremes:
    k = extremes.values.shape[1]
    for column in undecided.nonzero()[:, 0].tolist():
        entries = scores[:, column].contiguous()
        # The k-th value is right even here: entries beyond it lie in fewer than k groups, and all those were looked at.
        limit = extremes.values[column, k - 1]
        rows = (entries >= limit if largest else entries <= limit).nonzero()[:, 0]
        order = entries[rows].sort(descending=largest, stable=True)
        extremes.rows[column] = rows[order.indices[:k]]
        extremes.values[column] = order.values[:k]
    return extremes
