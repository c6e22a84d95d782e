"""95% intervals, and when a comparison holds: where the interval of the difference leaves out 0.

Sources: Wilson 1927 for shares; Newcombe 1998, method 10, for differences of shares; percentile bootstrap with a fixed
seed for means of observations, widened where these are few (after the expanded percentiles of Hesterberg 2015), the
normal distribution for means of which only sums are known. That an ordering 'holds' only so is this project's rule.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neurothek.queries.rules.chance import wilson

Numbers = NDArray[np.float64]
Verdict = Literal["holds", "does not hold", "undecided"]

DRAWS = 2000
"""Ends of a bootstrap interval then vary by a few hundredths of its width from seed to seed."""

_NORMAL_975 = 1.959963984540054
"""The standard normal distribution lies within so far of 0 with a probability of 95%."""

_DRAWN_AT_ONCE = 2**14
"""Observations drawn in one call: few enough to stay in a core's cache."""


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its 95% interval."""

    value: float  # the estimate
    low: float  # lower end
    high: float  # upper end
    n: int  # observations behind it, of a difference on both sides together

    @property
    def is_positive(self) -> Verdict:
        """Whether the quantity is above 0: `holds` and `does not hold` where the interval lies on one side of 0."""
        return "holds" if self.low > 0 else "does not hold" if self.high < 0 else "undecided"


@dataclass(frozen=True)
class Moments:
    """What is known of observations: how many, their sum and the sum of their squares."""

    n: int
    total: float
    squares: float

    @property
    def mean(self) -> float:
        """Their mean; NaN of none."""
        return self.total / self.n if self.n else math.nan

    @property
    def variance(self) -> float:
        """Of a sample; NaN of fewer than two."""
        return max(0.0, (self.squares - self.n * self.mean**2) / (self.n - 1)) if self.n > 1 else math.nan


def share(successes: int, n: int) -> Interval:
    """A share with its Wilson interval; of nothing, everything between 0 and 1 is possible."""
    if n == 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    return Interval(*wilson(successes, n), n)


def share_difference(first: tuple[int, int], second: tuple[int, int]) -> Interval:
    """First share minus second, each successes and n of independent observations, with Newcombe's interval."""
    a, b = share(*first), share(*second)
    if not a.n or not b.n:
        return Interval(math.nan, -1.0, 1.0, a.n + b.n)
    difference = a.value - b.value
    below = math.hypot(a.value - a.low, b.high - b.value)
    above = math.hypot(a.high - a.value, b.value - b.low)
    return Interval(difference, difference - below, difference + above, a.n + b.n)


def mean(values: Sequence[float]) -> Interval:
    """A mean with its bootstrap interval; differences of pairs give the paired bootstrap."""
    numbers = np.asarray(values, dtype=np.float64)
    n, value = len(numbers), float(numbers.mean()) if len(values) else math.nan
    if n < 2:
        # One observation says nothing of how others would vary.
        return Interval(value, -math.inf, math.inf, n)
    low, high = _ends(_means(numbers, np.random.default_rng(0)))
    wider = _widening(n)
    return Interval(value, value - wider * (value - low), value + wider * (high - value), n)


def difference_of_means(first: Moments, second: Moments) -> Interval:
    """Mean of the first minus mean of the second, independent of each other, with the normal interval."""
    n = first.n + second.n
    if min(first.n, second.n) < 2:
        return Interval(math.nan, -math.inf, math.inf, n)
    value = first.mean - second.mean
    half = _NORMAL_975 * math.sqrt(first.variance / first.n + second.variance / second.n)
    return Interval(value, value - half, value + half, n)


def over(interval: Interval, bound: float) -> Interval:
    """How far a quantity lies above a bound."""
    return Interval(interval.value - bound, interval.low - bound, interval.high - bound, interval.n)


def pooled(parts: Sequence[Interval]) -> Interval:
    """Unweighted mean of independent estimates; distances to the ends add as squares, as in Newcombe's method.

    Parts with nothing behind them are left out; without any part the interval is empty.
    """
    filled = [one for one in parts if not math.isnan(one.value)]
    if not filled:
        return Interval(math.nan, -math.inf, math.inf, 0)
    value = sum(one.value for one in filled) / len(filled)
    below = math.hypot(*(one.value - one.low for one in filled)) / len(filled)
    above = math.hypot(*(one.high - one.value for one in filled)) / len(filled)
    return Interval(value, value - below, value + above, sum(one.n for one in filled))


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """A claim that says several different things holds where all of them do, and fails where one does."""
    if "does not hold" in verdicts:
        return "does not hold"
    return "holds" if verdicts and "undecided" not in verdicts else "undecided"


def _widening(n: int) -> float:
    """How much wider an interval is than that of bare draws: by Student's t, and as draws spread too little.

    Without it two observations with one sign would decide a claim, as half of all pairs do where the mean is 0, and
    eight would in one of eight cases.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - a model of no such name is told before SciPy is loaded

    return float(stdtrit(n - 1, 0.975)) / _NORMAL_975 * math.sqrt(n / (n - 1))


def _means(values: Numbers, draw: np.random.Generator) -> Numbers:
    """[draws] Means of samples with replacement."""
    n = len(values)
    at_once = max(1, _DRAWN_AT_ONCE // n)
    parts = (
        values[draw.integers(0, n, (min(at_once, DRAWS - start), n))].mean(axis=1) for start in range(0, DRAWS, at_once)
    )
    return np.concatenate(list(parts))


def _ends(means: Numbers) -> tuple[float, float]:
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
