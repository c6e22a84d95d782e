"""Wilson's interval against SciPy's, against the equation that its ends solve, and at none and all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neurothek.ingest.jobs.shortcuts.frames import NORMAL_975, wilson

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_the_quantile_is_that_of_the_normal_distribution() -> None:
    assert pytest.approx(stats.norm.ppf(0.975), rel=1e-14) == NORMAL_975


@given(counts)
def test_the_ends_are_the_shares_that_the_count_just_allows(count: tuple[int, int]) -> None:
    k, n = count
    low, high = wilson(k, n)
    for end in (low, high):
        # (p - x)^2 = z^2 x (1 - x) / n at both ends, where an end is not 0 or 1 itself.
        if 0 < end < 1:
            assert (k / n - end) ** 2 == pytest.approx(NORMAL_975**2 * end * (1 - end) / n, rel=1e-6, abs=1e-12)
    assert 0 <= low <= k / n <= high <= 1


@given(counts)
def test_another_library_has_the_same_ends(count: tuple[int, int]) -> None:
    ends = stats.binomtest(*count).proportion_ci(0.95, method="wilson")
    assert wilson(*count) == pytest.approx((ends.low, ends.high), abs=1e-12)


def test_a_share_of_none_or_of_all_ends_there_exactly() -> None:
    # With no success the upper end solves n x^2 = z^2 x (1 - x): x = z^2 / (n + z^2).
    z2 = stats.norm.ppf(0.975) ** 2
    for n in (1, 7, 10_000):
        (low, upper), (lower, high) = wilson(0, n), wilson(n, n)
        assert (low, high) == (0, 1)
        assert (upper, lower) == pytest.approx((z2 / (n + z2), n / (n + z2)), rel=1e-12)
