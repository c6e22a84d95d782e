"""Which way numbers go: by a rule that is written out here, with intervals that SciPy knows; and how it is said."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neurothek.queries.compare.trends import (
    MEASURES,
    Number,
    Trend,
    difference_interval,
    direction_of,
    percentages,
    step,
)
from neurothek.queries.papers.intervals import share_difference

counted = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(max_examples=60)
@given(first=counted, second=counted)
def test_the_interval_is_newcombe_s(first: tuple[int, int], second: tuple[int, int]) -> None:
    expected = share_difference(first, second)
    # Written out against SciPy's Wilson interval, which clips at 0 and 1.
    assert difference_interval(first, second) == pytest.approx((expected.low, expected.high), abs=1e-9)


def plain(*values: float) -> list[Number]:
    return [Number(value) for value in values]


def shares(*counts: tuple[int, int]) -> list[Number]:
    return [Number(found / n, (found, n)) for found, n in counts]


def test_directions(subtests: pytest.Subtests) -> None:
    for numbers, direction in [
        (plain(1, 2), "rises"),
        (plain(1, 2, 2.01, 3), "rises"),
        (plain(3, 2, 1), "falls"),
        (plain(100, 96, 100), "stays flat"),
        (plain(0, 0, 0), "stays flat"),
        (plain(100, 95.1), "stays flat"),
        (plain(100, 94.9), "falls"),
        (plain(1, 2, 1), "goes up and down"),
        (plain(1, 3, 2), "goes up and down"),
        # No step is a change, and yet the ends differ: a slow rise.
        (plain(100, 104, 108), "rises"),
        # It rises in one step and drifts back in steps too small to count.
        (plain(100, 106, 102, 99), "shows no clear trend"),
        # 1 of 768 is no more than 0 of 768.
        (shares((0, 768), (1, 768)), "shows no clear trend"),
        (shares((0, 768), (12, 2048), (328, 4608)), "rises"),
        # Significant and yet small.
        (shares((500_000, 1_000_000), (510_000, 1_000_000)), "stays flat"),
    ]:
        with subtests.test(numbers=numbers, direction=direction):
            assert direction_of(numbers) == direction


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_backwards_the_other_way(values: list[float]) -> None:
    turned = {"rises": "falls", "falls": "rises"}
    there = direction_of(plain(*values))
    assert direction_of(plain(*values[::-1])) == turned.get(there, there)
    # The rule once more, a step at a time.
    ways = [step(Number(one), Number(other)) for one, other in pairwise(values)]
    if there == "rises":
        assert values[-1] > values[0]
        assert min(ways) >= 0
    if there == "goes up and down":
        assert {1, -1} <= set(ways)


def test_percentages(subtests: pytest.Subtests) -> None:
    for values, said in [
        ([0, 0.0711805], ["0%", "7.1%"]),
        ([0.208931, 0.06828], ["21%", "6.8%"]),
        # Two digits would hide a change that counts.
        ([0.1060, 0.1120], ["10.6%", "11.2%"]),
        # One that does not may be hidden.
        ([0.1060, 0.1080], ["11%", "11%"]),
        ([1.0, 0.999], ["100%", ">99%"]),
        ([0.00001], ["<0.01%"]),
        ([0.000123], ["0.012%"]),
        ([0.05], ["5.0%"]),
    ]:
        with subtests.test(values=values, said=said):
            assert percentages(values) == said


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=4))
@example(values=[1.0, 1e-83, 1e-253])
def test_zero_and_all_are_said_of_nothing_else(values: list[float]) -> None:
    for value, said in zip(values, percentages(values), strict=True):
        assert (said == "0%") == (value == 0)
        assert (said == "100%") == (value == 1)
        if not said.startswith(("<", ">")):
            assert float(said.removesuffix("%")) == pytest.approx(100 * value, rel=0.06)


def test_clauses(subtests: pytest.Subtests) -> None:
    for values, said in [
        ((0.1, 0.2), "positional neurons rise from 10% to 20%"),
        ((0.2, 0.1), "positional neurons fall from 20% to 10%"),
        ((0.2, 0.2), "positional neurons stay at 20%"),
        ((0.2, 0.206), "positional neurons stay flat (20% to 21%)"),
        ((0.1, 0.3, 0.1), "positional neurons go up and down (10%, 30%, 10%)"),
        ((0.100, 0.106, 0.102, 0.099), "positional neurons show no clear trend (10%, 11%, 10%, 9.9%)"),
        ((0.5,), "50% positional neurons"),
    ]:
        with subtests.test(values=values, said=said):
            (measure,) = [one for one in MEASURES if one.column == "positional_share"]
            names = tuple(f"m{number}" for number in range(len(values)))
            trend = Trend(measure, names, tuple(plain(*values)))
            assert trend.clause == said
            assert (trend.direction is None) == (len(values) == 1)


def test_next_to_nothing_is_sparse() -> None:
    (measure,) = [one for one in MEASURES if one.column == "token_detector_share"]

    def is_sparse(*counts: tuple[int, int]) -> bool:
        return Trend(measure, tuple("abc"[: len(counts)]), tuple(shares(*counts))).is_sparse

    assert is_sparse((0, 10), (0, 20))
    assert is_sparse((0, 10), (1, 20))
    assert not is_sparse((0, 10), (2, 20))
