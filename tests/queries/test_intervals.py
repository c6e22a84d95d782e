"""Intervals against roots, a published example and the normal distribution; what holds, and what is undecided."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries.intervals import NORMAL_975, Interval, all_of, mean, mean_difference, share, share_difference

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_wilson_ends_are_the_shares_that_the_count_just_allows(count: tuple[int, int]) -> None:
    k, n = count
    found = share(k, n)
    for end in (found.low, found.high):
        # (p - x)^2 = z^2 x (1 - x) / n at both ends, where an end is not 0 or 1 itself.
        if 0 < end < 1:
            assert (k / n - end) ** 2 == pytest.approx(NORMAL_975**2 * end * (1 - end) / n, rel=1e-6, abs=1e-12)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_difference_as_published() -> None:
    # Newcombe 1998, table II, example (a), method 10: 56/70 against 48/80.
    found = share_difference((56, 70), (48, 80))
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


@given(counts, counts)
def test_a_difference_turns_its_sign_with_its_sides(first: tuple[int, int], second: tuple[int, int]) -> None:
    one, other = share_difference(first, second), share_difference(second, first)
    assert (one.low, one.value, one.high) == pytest.approx((-other.high, -other.value, -other.low))
    assert -1 <= one.low <= one.value <= one.high <= 1


def test_bootstrap_agrees_with_the_normal_where_there_is_much() -> None:
    draw = random.Random(3)
    values, others = ([draw.gauss(centre, 1) for _ in range(2000)] for centre in (1.0, 0.5))
    found = mean(values)
    half = NORMAL_975 * float(np.std(values)) / math.sqrt(2000)
    # Ends from 2,000 draws vary by about 4% of the half width.
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=0.15 * half)
    apart = mean_difference(values, others)
    half = NORMAL_975 * math.hypot(float(np.std(values)), float(np.std(others))) / math.sqrt(2000)
    assert (apart.low, apart.high) == pytest.approx((apart.value - half, apart.value + half), abs=0.15 * half)
    assert mean(values) == found


def test_pairs_know_more_than_their_sides() -> None:
    draw = random.Random(4)
    first = [draw.gauss(0, 5) for _ in range(200)]
    second = [value - 0.3 + draw.gauss(0, 0.5) for value in first]
    assert mean([a - b for a, b in zip(first, second, strict=True)]).is_positive == "holds"
    assert mean_difference(first, second).is_positive == "undecided"


def test_nothing_is_told_from_nothing() -> None:
    for found in (share_difference((0, 0), (1, 2)), mean([]), mean([5.0]), mean_difference([1.0], [2.0, 3.0])):
        assert found.is_positive == "undecided"
    assert (share(0, 0).low, share(0, 0).high) == (0, 1)


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.1, 0.2, "holds"), (-0.2, -0.1, "does not hold"), (0, 0.2, "undecided")]
)
def test_a_comparison_holds_where_its_interval_leaves_out_0(low: float, high: float, verdict: str) -> None:
    assert Interval((low + high) / 2, low, high, 9).is_positive == verdict


def test_a_claim_of_parts() -> None:
    assert all_of(["holds", "holds"]) == "holds"
    assert all_of(["holds", "undecided"]) == "undecided"
    assert all_of(["undecided", "does not hold"]) == "does not hold"
    assert all_of([]) == "undecided"
