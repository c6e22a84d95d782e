"""Intervals of estimates that hold the truth in 95 of 100 samples."""

import math

NORMAL_975 = 1.959963984540054
"""The standard normal distribution lies within so far of 0 with a probability of 95%."""


def wilson(count: int, n: int) -> tuple[float, float]:
    """Wilson's interval of the share count / n (Wilson 1927), which never leaves 0 to 1."""
    share, z2 = count / n, NORMAL_975**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_975 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # Rounding may leave an end of 0 or of 1 a hair's breadth on the wrong side of the share.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))
