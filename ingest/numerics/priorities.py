"""A priority for every pair of numbers: the pairs of highest priority are a random sample, whoever draws it [ours]."""

from jaxtyping import Int
from torch import Tensor

# The increment and the two factors of SplitMix64 (Steele, Lea and Flood 2014, figure 17), as signed numbers.
_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_FACTORS = (0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64))
_SHIFTS = (30, 27, 31)


def priorities(seed: int, rows: Int[Tensor, " rows"], columns: Int[Tensor, " columns"]) -> Int[Tensor, "rows columns"]:
    """[rows columns] 63 random bits for each pair, a function of seed, row and column alone.

    The k pairs of a column that have the highest priorities are k rows drawn without replacement, each set as likely as
    any other; of two halves of the rows the k highest of both are among the k highest of each.

    Args:
        seed: of the draw.
        rows: int64, at least 0.
        columns: int64, at least 0.
    """
    of_columns = _mixed((columns + 1) * _STEP + seed)
    of_rows = _mixed((rows + 1) * _STEP)
    return (_mixed(of_rows[:, None] ^ of_columns) >> 1) & ((1 << 63) - 1)


def _mixed(words: Tensor) -> Tensor:
    """SplitMix64's output function; torch multiplies int64 modulo 2^64."""
    for shift, factor in zip(_SHIFTS, (*_FACTORS, None), strict=True):
        # An arithmetic shift brings copies of the sign in, which are masked out.
        words = words ^ ((words >> shift) & ((1 << (64 - shift)) - 1))
        if factor is not None:
            words = words * factor
    return words
