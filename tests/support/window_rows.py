"""Rows of windows and histograms, written from the definitions over coefficients that were drawn by lot."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence

from tests.support.tiny import Row

EDGES = [0.0, *(2.0**e * first for e in range(-8, 8) for first in (1.0, 1.5)), 256.0]
"""Edges of the bins of |m| above 0."""

N_STRONGEST, N_SAMPLED, N_RANDOM = 3, 4, 2


def bin_of(m: float) -> int:
    """0 for 0; else the number of edges that |m| reaches, 0 among them, with m's sign."""
    return int(math.copysign(bisect_right(EDGES, abs(m)), m)) if m else 0


def window(line: Sequence[float], place: int, first_counted: int) -> Row:
    """The window of one sequence around a place."""
    start = max(first_counted, place - 40)
    there = line[start : place + 23]
    largest = max(map(abs, there))
    return {
        "position": place,
        "n_before": place - start,
        "n_after": len(there) - 1 - (place - start),
        "nonzero": sum(1 << at for at, m in enumerate(there) if m),
        "largest": largest,
        "activations": [round(m * 127 / largest) for m in there if m],
    }


def windows(lines: Mapping[int, Sequence[float]], first_counted: int) -> list[Row]:
    """A neuron's windows: of its strongest sequences, of the last ones that it fires in, and of each middle."""
    peaks = []
    for sequence, line in lines.items():
        size, position = max((abs(m), -at) for at, m in enumerate(line) if at >= first_counted)
        if size:
            peaks.append((-size, sequence, -position))
    peaks.sort()
    sampled = sorted(sorted(peaks, key=lambda peak: -peak[1])[:N_SAMPLED])
    bands = {
        "strongest": [(sequence, at) for _, sequence, at in peaks[:N_STRONGEST]],
        "quantile": [(sequence, at) for _, sequence, at in sampled],
        "random": [(sequence, max(first_counted, len(lines[sequence]) // 2)) for sequence in sorted(lines)[:N_RANDOM]],
    }
    return [
        {"band": band, "rank": rank, "sequence_id": sequence, **window(lines[sequence], at, first_counted)}
        for band, places in bands.items()
        for rank, (sequence, at) in enumerate(places, start=1)
    ]


def histogram(lines: Mapping[int, Sequence[float]], first_counted: int) -> Row:
    """Counts of a neuron's coefficients at all counted positions."""
    counts = Counter(bin_of(m) for line in lines.values() for m in line[first_counted:])
    first, last = min(counts), max(counts)
    return {
        "n_positions": counts.total(),
        "first_bin": first,
        "counts": [counts[number] for number in range(first, last + 1)],
    }
