"""Exact selection against a plain lexicographic sort, with ties planted wherever groups could hide them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from neurothek.ingest.lens.top_k import GROUP, End, Extremes, bound_groups_, group_count, select

SIDES: tuple[End, ...] = ("largest", "smallest")


def found(scores: Tensor, k: int, side: End, *, piece: int = 128) -> Extremes:
    bounds = torch.empty(group_count(len(scores)), scores.shape[1])
    for start in range(0, len(scores), piece):
        bound_groups_(bounds, scores[start : start + piece], first_row=start, side=side)
    return select(scores, bounds, k=k, side=side)


def expected_rows(scores: Tensor, k: int, side: End) -> list[list[int]]:
    """Rows by value, then by row: the definition, one column at a time."""
    sign = -1.0 if side == "largest" else 1.0
    rows = np.arange(len(scores))
    return [np.lexsort((rows, sign * column))[:k].tolist() for column in scores.double().numpy().T]


def check(scores: Tensor, k: int, side: End) -> None:
    extremes = found(scores, k, side)
    assert extremes.rows.tolist() == expected_rows(scores, k, side)
    assert torch.equal(extremes.values, scores.T.gather(1, extremes.rows))


def random_scores(rows: int, columns: int, seed: int = 0) -> Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("rows", [1, 7, 8, 63, 64, 65, 100, 3263, 3264, 3329, 5003])
@pytest.mark.parametrize("k", [1, 20, 50])
def test_random_scores(rows: int, k: int, side: End) -> None:
    check(random_scores(rows, 9), min(k, rows), side)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("levels", [1, 2, 30, 1000])
def test_few_distinct_scores_are_ordered_by_row(levels: int, side: End) -> None:
    """The fewer values, the more often the k-th best is tied with an entry in a group that was not looked at."""
    check(torch.floor(random_scores(5003, 17).abs() * levels / 4), 50, side)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("where", ["same group", "same coarse group", "far away", "after the last group"])
def test_a_tie_at_the_last_place_goes_to_the_lower_row(where: str, side: End) -> None:
    """One entry more than asked for shares the last place; without the tie rule either could be kept."""
    k, rows = 5, 4003
    first, tied = {
        "same group": (1000, 1001),
        "same coarse group": (1000, 1000 + GROUP),
        "far away": (800, 3200),
        "after the last group": (2000, rows - 1),
    }[where]
    scores = random_scores(rows, 1).clamp(-1, 1)
    scores[[100, 700, 1900, 2500]] = torch.tensor([9.0, 8.0, 7.0, 6.0])[:, None]
    scores[[first, tied]] = 5.0
    if side == "smallest":
        scores = -scores
    assert found(scores, k, side).rows.tolist() == [[100, 700, 1900, 2500, first]]


def test_all_equal_scores_keep_the_first_rows() -> None:
    for side in SIDES:
        assert found(torch.full((4000, 2), 1.5), 50, side).rows.tolist() == [list(range(50))] * 2


def test_both_zeros_are_equal() -> None:
    scores = torch.zeros(4000, 1)
    scores[::3] = -0.0
    check(scores, 50, "largest")


@given(data=st.data())
@settings(max_examples=60)
def test_any_small_integers(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 700))
    span = data.draw(st.integers(0, 40))
    k = data.draw(st.integers(1, min(rows, 9)))
    seed = data.draw(st.integers(0, 1000))
    scores = torch.randint(-span, span + 1, (rows, 3), generator=torch.Generator().manual_seed(seed)).float()
    for side in SIDES:
        check(scores, k, side)


def test_the_size_of_the_pieces_does_not_matter() -> None:
    scores = random_scores(5003, 4)
    for piece in (8, 64, 1024, 8192):
        assert torch.equal(found(scores, 50, "largest", piece=piece).rows, found(scores, 50, "largest").rows)


def test_joined_matrices_lie_side_by_side() -> None:
    scores = random_scores(4000, 5)
    whole = found(scores, 7, "largest")
    parts = [found(scores[:, columns].contiguous(), 7, "largest") for columns in (slice(0, 2), slice(2, 5))]
    assert torch.equal(Extremes.joined(parts).rows, whole.rows)
