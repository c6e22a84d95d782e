"""95% intervals, and when a comparison holds: where the interval of the difference leaves out 0.

Sources: Wilson 1927 for shares; Newcombe 1998, method 10, for differences of shares; percentile bootstrap with a fixed
seed for means. That an ordering 'holds' only so is ours [DEFINITIONS, Sub-updates and events].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ingest.numerics.intervals import wilson

Numbers = NDArray[np.float64]
Verdict = Literal["holds", "does not hold", "undecided"]

DRAWS = 2000
"""Ends of a bootstrap interval then vary by a few hundredths of its width from seed to seed."""


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its 95% interval.

    Attributes:
        value: the estimate.
        low: lower end.
        high: upper end.
        n: observations behind it, of a difference on both sides together.
    """

    value: float
    low: float
    high: float
    n: int

    @property
    def is_positive(self) -> Verdict:
        """Whether the quantity is above 0: `holds` and `does not hold` where the interval lies on one side of 0."""
        return "holds" if self.low > 0 else "does not hold" if self.high < 0 else "undecided"


def share(successes: int, n: int) -> Interval:
    """A share with its Wilson interval; of nothing, everything between 0 and 1 is possible."""
    if n == 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    low, high = wilson(successes, n)
    return Interval(successes / n, low, high, n)


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
    if len(numbers) < 2:
        # One observation says nothing of how others would vary.
        return Interval(float(numbers.mean()) if len(numbers) else math.nan, -math.inf, math.inf, len(numbers))
    low, high = _ends(_means(numbers, np.random.default_rng(0)))
    return Interval(float(numbers.mean()), low, high, len(numbers))


def mean_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Mean of the first minus mean of the second, with the bootstrap interval of independent samples."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if min(len(a), len(b)) < 2:
        return Interval(math.nan, -math.inf, math.inf, len(a) + len(b))
    draw = np.random.default_rng(0)
    low, high = _ends(_means(a, draw) - _means(b, draw))
    return Interval(float(a.mean() - b.mean()), low, high, len(a) + len(b))


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """A claim of several parts holds where all do, and fails where one does."""
    if "does not hold" in verdicts:
        return "does not hold"
    return "holds" if verdicts and "undecided" not in verdicts else "undecided"


def _means(values: Numbers, draw: np.random.Generator) -> Numbers:
    """[draws] Means of samples with replacement."""
    return np.array([values[draw.integers(0, len(values), len(values))].mean() for _ in range(DRAWS)])


def _ends(means: Numbers) -> tuple[float, float]:
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
