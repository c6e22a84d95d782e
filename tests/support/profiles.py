"""Position profiles by the words of their definition: loops that share nothing with the product."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any


def by_the_definition(counts: Sequence[int], n: int, length: int) -> dict[str, Any]:
    """One profile, position by position."""
    frequencies = [count / n for count in counts]
    mean = sum(counts) / (n * len(counts))
    information = 0.0
    for frequency in frequencies:
        for part, whole in ((frequency, mean), (1 - frequency, 1 - mean)):
            if part > 0:
                information += part * math.log(part / whole) / len(counts)
    cells = sum((count > 0) + (count < n) for count in counts)
    columns = any(counts) + any(count < n for count in counts)
    bias = (cells - len(counts) - columns + 1) / (2 * n * len(counts))
    runs = runs_of(counts, n, length)
    kinds = [kind for _, kind, _ in runs]
    on, off = ([q for _, kind, q in runs if kind == sort] for sort in ("on", "off"))
    bends = [frequencies[p] - (frequencies[p - 1] + frequencies[p + 1]) / 2 for p in range(1, len(counts) - 1)]
    rough = None
    if n > 1 and bends:
        noise = 1.5 * math.fsum(f * (1 - f) for f in frequencies) / len(counts) / (n - 1)
        rough = math.sqrt(max(0, math.fsum(bend**2 for bend in bends) / len(bends) - noise))
    return {
        "mutual_information": information,
        "mutual_information_corrected": max(0, information - bias),
        "n_switches": sum(a != b for a, b in pairwise(kinds)),
        "n_on_runs": len(on),
        "n_off_runs": len(off),
        "weakest_on": min(on, default=None),
        "weakest_off": max(off, default=None),
        "roughness": rough,
    }


def runs_of(counts: Sequence[int], n: int, length: int) -> list[tuple[int, str, float]]:
    """(start, sort, pooled frequency) of every run, in order."""
    found = []
    total, cells = sum(counts), n * len(counts)
    for sort in ("on", "off"):
        start = 0
        while start < len(counts):
            end = start
            while end < len(counts) and (10 * counts[end] >= 9 * n if sort == "on" else 10 * counts[end] <= n):
                end += 1
            if end - start >= max(4, math.ceil(length / 64)):
                own, size = sum(counts[start:end]), n * (end - start)
                # 1 - q <= (1 - f) / 2, or q <= f / 2, free of rounding.
                if sort == "on" and 2 * (size - own) * cells <= (cells - total) * size:
                    found.append((start, sort, own / size))
                if sort == "off" and 2 * own * cells <= total * size:
                    found.append((start, sort, own / size))
            start = max(end, start + 1)
    return sorted(found)


def labels(row: Mapping[str, Any], n: int) -> tuple[str, str]:
    """Kind and strength of a profile over n sequences, from its numbers."""
    if n < 100:
        return "too few sequences", "too few sequences"
    if row["mutual_information_corrected"] <= 0.05:
        return "not positional", "not positional"
    if not row["n_on_runs"] and not row["n_off_runs"]:
        return "other", "strong" if row["roughness"] <= 0.02 else "weak"
    kind = "oscillatory" if row["n_switches"] >= 3 else "both extremes" if row["n_switches"] else "one extreme"
    is_weak = (row["weakest_on"] is not None and row["weakest_on"] < 0.995) or (
        row["weakest_off"] is not None and row["weakest_off"] > 0.005
    )
    return kind, "weak" if is_weak else "strong"
