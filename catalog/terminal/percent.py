"""A part of 1 in per cent, as people read it."""

import math

_ALL = 100


def percent(share: float, digits: int = 2) -> str:
    """So many digits, or as many as the whole per cents have.

    It is never 0% of what is not 0, nor 100% of what is not all: these are told as <0.01% and >99%.
    """
    per_cent = 100 * share
    if per_cent in (0, _ALL):
        return f"{abs(per_cent):.0f}%"
    if 0 < per_cent < 10 ** (-digits):
        return f"<{10 ** (-digits):.{digits}f}%"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(per_cent))))
    text = f"{per_cent:.{decimals}f}"
    if float(text) >= _ALL > per_cent:
        return f">{_ALL - 10.0 ** (2 - digits):g}%"
    return f"{text}%"
