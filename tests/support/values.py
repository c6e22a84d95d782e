"""Values that two engines, or two runs of one, may tell apart in their last digits."""

import math


def is_same(one: object, other: object) -> bool:
    """Equal to 1e-9 of the value: sums of doubles in another order differ by less."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return type(one) is type(other) and one == other
