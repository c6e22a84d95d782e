"""Intervals and the rule for several places from their definitions, in slow loops without `neurothek.queries.papers`.

Wilson 1927, Newcombe 1998 (method 10), Welch with normal ends, the percentile bootstrap with another generator, and
"none against, most in favour, and so together".
"""

import math
import random
from collections.abc import Sequence

from scipy.stats import t as student

Ends = tuple[float, float, float]
"""An estimate and the ends of its interval."""


def bootstrap(values: Sequence[float]) -> Ends:
    """A mean; distances to the ends of the draws grow as Student's t asks, and as draws spread too little."""
    n, mean = len(values), math.fsum(values) / len(values)
    draw = random.Random(7)
    means = sorted(math.fsum(draw.choices(values, k=n)) / n for _ in range(300))
    factor = student.ppf(0.975, n - 1) / 1.96 / math.sqrt(1 - 1 / n)
    return mean, mean + factor * (means[7] - mean), mean + factor * (means[292] - mean)


def wilson(k: int, n: int) -> Ends:
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return p, (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def newcombe(first: tuple[int, int], second: tuple[int, int]) -> Ends:
    (p, p_low, p_high), (q, q_low, q_high) = wilson(*first), wilson(*second)
    return p - q, p - q - math.hypot(p - p_low, q_high - q), p - q + math.hypot(p_high - p, q - q_low)


def welch(first: Sequence[float], second: Sequence[float]) -> Ends:
    means = [math.fsum(some) / len(some) for some in (first, second)]
    errors = [
        math.fsum((one - mean) ** 2 for one in some) / (len(some) - 1) / len(some)
        for some, mean in zip((first, second), means, strict=True)
    ]
    apart, half = means[0] - means[1], 1.96 * math.sqrt(sum(errors))
    return apart, apart - half, apart + half


def less(found: Ends, bound: float) -> Ends:
    """How far it lies above a bound."""
    return found[0] - bound, found[1] - bound, found[2] - bound


def sign(found: Ends, edge: float = 0.0) -> str:
    """On which side of 0 an interval lies that is longer by this share of itself at either end."""
    more = edge * (found[2] - found[1]) if edge else 0.0
    return "holds" if found[1] - more > 0 else "does not hold" if found[2] + more < 0 else "undecided"


def pool(parts: Sequence[Ends]) -> Ends:
    value = sum(one[0] for one in parts) / len(parts)
    below = math.sqrt(sum((one[0] - one[1]) ** 2 for one in parts)) / len(parts)
    above = math.sqrt(sum((one[2] - one[0]) ** 2 for one in parts)) / len(parts)
    return value, value - below, value + above


def several(parts: Sequence[Ends], whole: Ends, edge: float = 0.0) -> str:
    signs, together = [sign(one, edge) for one in parts], sign(whole, edge)
    if "does not hold" in (*signs, together):
        return "does not hold"
    return together if 2 * signs.count("holds") > len(parts) else "undecided"
