"""Intervals against roots, a published example and the normal distribution; what holds, and what is undecided."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neurothek.queries.papers.intervals import (
    Interval,
    Moments,
    all_of,
    difference_of_means,
    mean,
    over,
    pooled,
    share,
    share_difference,
)

NORMAL_975 = 1.959963984540054


def moments(values: Sequence[float]) -> Moments:
    return Moments(len(values), math.fsum(values), math.fsum(value**2 for value in values))


def mean_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    return difference_of_means(moments(first), moments(second))


counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_a_share_has_the_interval_of_wilson() -> None:
    found = share(3, 40)
    assert (found.value, found.n) == (3 / 40, 40)
    assert (found.low, found.high) == pytest.approx(wilson((3, 40)), abs=1e-12)


def test_a_difference_as_published() -> None:
    # Newcombe 1998, table II, example (a), method 10: 56/70 against 48/80.
    found = share_difference((56, 70), (48, 80))
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


@given(counts, counts)
def test_a_difference_has_the_ends_of_its_sides(first: tuple[int, int], second: tuple[int, int]) -> None:
    """Newcombe's method 10, as he writes it: from the Wilson ends l and u of both sides."""
    found, (l1, u1), (l2, u2) = share_difference(first, second), *map(wilson, (first, second))
    p1, p2 = first[0] / first[1], second[0] / second[1]
    assert found.value == pytest.approx(p1 - p2, abs=1e-12)
    assert found.low == pytest.approx(p1 - p2 - math.sqrt((p1 - l1) ** 2 + (u2 - p2) ** 2), abs=1e-7)
    assert found.high == pytest.approx(p1 - p2 + math.sqrt((u1 - p1) ** 2 + (p2 - l2) ** 2), abs=1e-7)
    assert found.n == first[1] + second[1]


def wilson(count: tuple[int, int]) -> tuple[float, float]:
    ends = stats.binomtest(*count).proportion_ci(0.95, method="wilson")
    return ends.low, ends.high


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


def test_means_of_draws_with_replacement_from_all_values() -> None:
    # Half of the draws of two values hold both, and a quarter each of them alone, far more than 2.5%: the ends are the
    # values themselves, as far from the mean as Student's t of one degree of freedom asks and as draws fall short.
    found = mean([0.0, 1.0])
    wider = 12.706 / NORMAL_975 * math.sqrt(2)
    assert (found.value, found.n) == (0.5, 2)
    assert (found.low, found.high) == pytest.approx((0.5 - wider / 2, 0.5 + wider / 2), rel=1e-4)
    constant = mean([2.5] * 7)
    assert (constant.low, constant.value, constant.high, constant.n) == (2.5, 2.5, 2.5, 7)


def test_few_observations_decide_no_more_often_than_many() -> None:
    """Where the mean is 0 the interval leaves it out in one of twenty samples; bare draws of two do in every second."""
    draw = random.Random(5)
    found = [mean([draw.gauss(0, 1), draw.gauss(0, 1)]).is_positive for _ in range(40)]
    # Seven or more of forty have a chance of 0.3% where it is one of twenty.
    assert 40 - found.count("undecided") < 7


def test_eight_observations_have_nearly_the_interval_of_student() -> None:
    values = [random.Random(6).gauss(0.5, 1) + 0.3 * number for number in range(8)]
    half = stats.t.ppf(0.975, 7) * float(np.std(values, ddof=1)) / math.sqrt(8)
    found = mean(values)
    assert (found.value - found.low, found.high - found.value) == pytest.approx((half, half), rel=0.1)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_two_observations_are_enough_for_a_difference(n: int) -> None:
    found = mean_difference([1.0, 1.0], [0.25] * n)
    assert (found.low, found.value, found.high, found.n) == (0.75, 0.75, 0.75, 2 + n)
    assert mean_difference([0.25] * n, [1.0, 1.0]).value == -0.75


def test_a_difference_of_means_has_the_interval_of_welch_with_normal_ends() -> None:
    first, second = [5.0, 6.0], [0.0, 2.0, 4.0]
    found = mean_difference(first, second)
    half = NORMAL_975 * math.sqrt(np.var(first, ddof=1) / 2 + np.var(second, ddof=1) / 3)
    assert (found.value, found.n) == (3.5, 5)
    assert (found.low, found.high) == pytest.approx((3.5 - half, 3.5 + half), abs=1e-12)


def test_one_observation_bounds_nothing() -> None:
    one, none = mean([5.0]), mean([])
    assert (one.value, one.low, one.high, one.n) == (5, -math.inf, math.inf, 1)
    assert math.isnan(none.value)
    assert (none.low, none.high, none.n) == (-math.inf, math.inf, 0)
    for first, second in (([1.0], [2.0, 3.0]), ([2.0, 3.0], [1.0]), ([], [2.0, 3.0, 4.0])):
        found = mean_difference(first, second)
        assert math.isnan(found.value)
        assert (found.low, found.high, found.n) == (-math.inf, math.inf, len(first) + len(second))


def test_a_share_of_nothing_bounds_nothing() -> None:
    nothing = share(0, 0)
    assert math.isnan(nothing.value)
    assert (nothing.low, nothing.high, nothing.n) == (0, 1, 0)
    for first, second in (((0, 0), (1, 2)), ((1, 2), (0, 0)), ((0, 0), (0, 0))):
        found = share_difference(first, second)
        assert math.isnan(found.value)
        assert (found.low, found.high, found.n) == (-1, 1, first[1] + second[1])


def test_nothing_is_told_from_nothing() -> None:
    for found in (share_difference((0, 0), (1, 2)), mean([]), mean([5.0]), mean_difference([1.0], [2.0, 3.0])):
        assert found.is_positive == "undecided"
    assert (share(0, 0).low, share(0, 0).high) == (0, 1)


def test_a_comparison_holds_where_its_interval_leaves_out_0(subtests: pytest.Subtests) -> None:
    for low, high, verdict in [
        (0.1, 0.2, "holds"),
        (-0.2, -0.1, "does not hold"),
        (0, 0.2, "undecided"),
        (-0.2, 0, "undecided"),
        (-0.1, 0.2, "undecided"),
        (1.5, 2.5, "holds"),
        (-2.5, -1.5, "does not hold"),
    ]:
        with subtests.test(low=low, high=high, verdict=verdict):
            assert Interval((low + high) / 2, low, high, 9).is_positive == verdict


def test_a_claim_of_parts() -> None:
    assert all_of(["holds", "holds"]) == "holds"
    assert all_of(["holds", "undecided"]) == "undecided"
    assert all_of(["undecided", "does not hold"]) == "does not hold"
    assert all_of([]) == "undecided"


def test_independent_parts_pool_as_their_mean() -> None:
    draw = random.Random(7)
    samples = [[draw.gauss(centre, spread) for _ in range(300)] for centre, spread in ((0.2, 1), (0.5, 2), (-0.1, 0.5))]
    parts = [around(x) for x in samples]
    found = pooled(parts)
    # The mean of three independent means has a ninth of the sum of their variances.
    half = NORMAL_975 * math.sqrt(sum(np.var(x, ddof=1) / 300 for x in samples)) / 3
    assert found.value == pytest.approx(np.mean([np.mean(x) for x in samples]))
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=1e-12)
    assert found.n == 900
    nothing = share_difference((0, 0), (1, 2))
    assert pooled([*parts, nothing]) == found
    assert pooled([nothing, nothing]).is_positive == pooled([]).is_positive == "undecided"
    assert pooled(parts[:1]).low == pytest.approx(parts[0].low)


def around(values: Sequence[float]) -> Interval:
    half = NORMAL_975 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Interval(float(np.mean(values)), float(np.mean(values)) - half, float(np.mean(values)) + half, len(values))


def test_a_bound_is_taken_from_all_of_an_interval() -> None:
    assert over(Interval(0.6, 0.5, 0.75, 9), 0.5) == Interval(0.6 - 0.5, 0.0, 0.25, 9)
