"""Position profiles as people read them: frequencies over bins of positions, and a line of blocks."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, TEXT
from neurothek.queries.names.tokens import Row
from neurothek.queries.neuron.page_rows import NeuronRows

POSITION_COLUMNS: Mapping[str, pl.DataType] = {
    "domain": TEXT,
    "n_sequences": BIG,
    "mutual_information": DOUBLE,
    "mutual_information_corrected": DOUBLE,
    "first_position": INTEGER,
    "last_position": INTEGER,
    "frequencies": pl.List(DOUBLE),
    "profile": TEXT,
    "counts": pl.List(BIG),
}

LEVELS = "▁▂▃▄▅▆▇█"
WIDTH = 32
"""Characters of a sparkline: half the stored bins, so that it fits beside numbers."""


def frequencies(counts: Sequence[int], n_sequences: int, n_positions: int) -> list[float] | None:
    """Share of the sequences in which a neuron was active, over bins of positions; None without a sequence.

    Args:
        counts: sums over bins; position p of n lies in bin floor(bins * p / n).
        n_sequences: sequences behind the counts.
        n_positions: counted positions of a sequence.
    """
    if not n_sequences:
        return None
    n_bins = len(counts)
    starts = [-(-number * n_positions // n_bins) for number in range(n_bins + 1)]
    sizes = [stop - start for start, stop in pairwise(starts)]
    return [count / (n_sequences * size) for count, size in zip(counts, sizes, strict=True)]


def sparkline(shares: Sequence[float] | None) -> str | None:
    """A character for each share, or for the mean of a few: lowest for 0, full for 1."""
    if shares is None:
        return None
    n_shown = min(WIDTH, len(shares))
    groups: list[list[float]] = [[] for _ in range(n_shown)]
    for number, share in enumerate(shares):
        groups[number * n_shown // len(shares)].append(share)
    means = [sum(group) / len(group) for group in groups]
    return "".join(LEVELS[min(len(LEVELS) - 1, int(mean * len(LEVELS)))] for mean in means)


def position_rows(rows: NeuronRows) -> list[Row]:
    """Of each domain, all of the corpus first."""
    if rows.measured is None:
        return []
    last = rows.measured.sequence_length - 1
    profiles = []
    for row in sorted(rows.of["positions"], key=lambda row: (row["domain"] != "all", row["domain"])):
        shown = frequencies(row["counts_64"], row["n_sequences"], last - row["first_position"] + 1)
        profiles.append({**row, "last_position": last, "frequencies": shown, "profile": sparkline(shown)})
    return profiles
