"""How a frequency depends on the position: mutual information, runs and roughness of counted profiles ([V] 5)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

ON, OFF = Fraction(9, 10), Fraction(1, 10)
"""A run is where the frequency is at least ON, or at most OFF (ours; the paper judges by eye)."""

N_BINS = 64


@dataclass(frozen=True, eq=False)
class Profiles:
    """What is known of some profiles, one entry each; not-a-number where a value is undefined."""

    # between position and being active, nats, plug-in; undefined without a sequence
    mutual_information: Float[np.ndarray, " profiles"]
    mutual_information_corrected: Float[np.ndarray, " profiles"]  # less its Miller-Madow bias, not below 0
    n_switches: Int[np.ndarray, " profiles"]  # alternations of on- and off-runs in their order
    n_on_runs: Int[np.ndarray, " profiles"]  # on-runs
    n_off_runs: Int[np.ndarray, " profiles"]  # off-runs
    weakest_on: Float[np.ndarray, " profiles"]  # smallest pooled frequency of an on-run; undefined where there is none
    weakest_off: Float[np.ndarray, " profiles"]  # largest pooled frequency of an off-run; undefined where there is none
    # root mean square distance of a frequency from the mean of its two neighbours, less what counting noise adds;
    # undefined below two sequences or three positions
    roughness: Float[np.ndarray, " profiles"]


def shortest_run(sequence_length: int) -> int:
    """Positions that a run has at least: a 64th of the sequence, and never fewer than four (ours)."""
    return max(4, -(-sequence_length // 64))


def measure_profiles(
    counts: Int[np.ndarray, "profiles positions"], n_sequences: int, *, sequence_length: int
) -> Profiles:
    """[profiles positions] numbers of sequences in which a neuron was active at a position -> what they say.

    Args:
        counts: between 0 and `n_sequences`.
        n_sequences: full-length sequences behind the counts.
        sequence_length: ids of a sequence, BOS included.
    """
    undefined = np.full(len(counts), np.nan)
    if n_sequences == 0:
        none = np.zeros(len(counts), dtype=np.int64)
        return Profiles(undefined, undefined, none, none, none, undefined, undefined, undefined)
    information = _information(counts, n_sequences)
    corrected = np.maximum(0, information - _bias(counts, n_sequences))
    shortest = shortest_run(sequence_length)
    on = _runs(counts, n_sequences, shortest=shortest, sort="on")
    off = _runs(counts, n_sequences, shortest=shortest, sort="off")
    return Profiles(
        mutual_information=information,
        mutual_information_corrected=corrected,
        n_switches=_switches(on, off, len(counts)),
        n_on_runs=np.bincount(on.profile, minlength=len(counts)),
        n_off_runs=np.bincount(off.profile, minlength=len(counts)),
        weakest_on=_extreme(on, len(counts), np.fmin),
        weakest_off=_extreme(off, len(counts), np.fmax),
        roughness=_roughness(counts, n_sequences),
    )


def bin_starts(n_positions: int) -> Int[np.ndarray, " bins"]:
    """First position of each of 64 equal bins, position p lying in bin floor(64 p / n); fewer are a bin each (ours)."""
    n_bins = min(N_BINS, n_positions)
    return -(-np.arange(n_bins) * n_positions // n_bins)


def binned(counts: Int[np.ndarray, "profiles positions"]) -> Int[np.ndarray, "profiles bins"]:
    """[profiles positions] -> [profiles bins] sums over the bins of `bin_starts`."""
    return np.add.reduceat(counts, bin_starts(counts.shape[1]), axis=1)


def _information(counts: Int[np.ndarray, "profiles positions"], n: int) -> Float[np.ndarray, " profiles"]:
    """H(f) - mean over positions of H(f_p): the sum of the definition in another order, without a logarithm a cell."""
    of_counts = _entropy(np.arange(n + 1) / n)[counts].mean(axis=1)
    pooled = _entropy(counts.sum(axis=1) / (n * counts.shape[1]))
    # The difference is never negative but for rounding.
    information: np.ndarray = np.maximum(0, pooled - of_counts)
    return information


def _entropy(share: Float[np.ndarray, " cells"]) -> Float[np.ndarray, " cells"]:
    entropy = np.zeros_like(share)
    for part in (share, 1 - share):
        entropy -= part * np.log(part, where=part > 0, out=np.zeros_like(part))
    return entropy


def _bias(counts: Int[np.ndarray, "profiles positions"], n: int) -> Float[np.ndarray, " profiles"]:
    """Miller-Madow over the (position x active) table: (cells - rows - columns + 1) / (2 n T'), of those not empty."""
    n_positions = counts.shape[1]
    active, silent = (counts > 0).sum(axis=1), (counts < n).sum(axis=1)
    n_columns = (active > 0).astype(np.int64) + (silent > 0)
    bias: np.ndarray = (active + silent - n_positions - n_columns + 1) / (2 * n * n_positions)
    return bias


@dataclass(frozen=True, eq=False)
class _Runs:
    """Runs of one sort, by profile and then by position."""

    profile: Int[np.ndarray, " runs"]
    start: Int[np.ndarray, " runs"]
    frequency: Float[np.ndarray, " runs"]


def _runs(counts: Int[np.ndarray, "profiles positions"], n: int, *, shortest: int, sort: Literal["on", "off"]) -> _Runs:
    """Maximal stretches beyond ON or OFF, long enough, and twice as near to the end of the scale as the mean is.

    An on-run is an off-run of being silent, so one rule serves both, in whole numbers.
    """
    rare = counts if sort == "off" else n - counts
    bound = OFF if sort == "off" else 1 - ON
    n_positions = counts.shape[1]
    is_beyond = np.zeros((len(counts), n_positions + 2), dtype=np.bool_)
    # A whole number is at most the bound's share of n where it is at most what is whole of that.
    np.less_equal(rare, n * bound.numerator // bound.denominator, out=is_beyond[:, 1:-1])
    # Ends of stretches come in pairs, row by row: where one begins and the place after its last position.
    profile, place = np.nonzero(is_beyond[:, 1:] != is_beyond[:, :-1])
    profile, start, end = profile[::2], place[::2], place[1::2]
    is_long = end - start >= shortest
    profile, start, length = profile[is_long], start[is_long], (end - start)[is_long]
    profiles, row = np.unique(profile, return_inverse=True)
    sums = np.zeros((len(profiles), n_positions + 1), dtype=np.int64)
    np.cumsum(rare[profiles], axis=1, out=sums[:, 1:])
    totals = sums[row, start + length] - sums[row, start]
    # found / (length n) <= total / (n_positions n) / 2, which is q <= f / 2 or 1 - q <= (1 - f) / 2.
    mask = 2 * totals * n_positions <= sums[row, -1] * length
    cells, totals = length[mask] * n, totals[mask]
    active = totals if sort == "off" else cells - totals
    return _Runs(profile[mask], start[mask], active / cells)


def _switches(on: _Runs, off: _Runs, n_profiles: int) -> Int[np.ndarray, " profiles"]:
    profile = np.concatenate([on.profile, off.profile])
    start = np.concatenate([on.start, off.start])
    is_on = np.repeat([True, False], [len(on.profile), len(off.profile)])
    order = np.lexsort((start, profile))
    profile, is_on = profile[order], is_on[order]
    switched = (profile[1:] == profile[:-1]) & (is_on[1:] != is_on[:-1])
    return np.bincount(profile[1:][switched], minlength=n_profiles)


def _extreme(runs: _Runs, n_profiles: int, take: np.ufunc) -> Float[np.ndarray, " profiles"]:
    result = np.full(n_profiles, np.nan)
    take.at(result, runs.profile, runs.frequency)
    return result


def _roughness(counts: Int[np.ndarray, "profiles positions"], n: int) -> Float[np.ndarray, " profiles"]:
    if n < 2 or counts.shape[1] < 3:
        return np.full(len(counts), np.nan)
    # Whole numbers up to the last division: twice the bends of the counts, and the sums of squares.
    bends = 2 * counts[:, 1:-1]
    bends -= counts[:, :-2]
    bends -= counts[:, 2:]
    bent, squares = (np.einsum("ij,ij->i", array, array) for array in (bends, counts))
    variance = (n * counts.sum(axis=1) - squares) / (n * n * counts.shape[1])
    noise = 1.5 * variance / (n - 1)
    roughness: np.ndarray = np.sqrt(np.maximum(0, bent / (4 * n * n * bends.shape[1]) - noise))
    return roughness
