"""How the scores of all tokens spread in a neuron's value vector, and how it fires by position."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, TEXT
from neurothek.queries.names.words import Row
from neurothek.queries.neuron.page_rows import NeuronRows
from neurothek.queries.views.contents import thresholds

LOGIT_COLUMNS: Mapping[str, pl.DataType] = {"z_from": DOUBLE, "z_to": DOUBLE, "n_tokens": BIG}

TAIL_Z = 4
"""Scores further than this from their mean are in the tails."""


def logits_frame(lists: Sequence[Row]) -> pl.DataFrame:
    """The bins of a neuron, lowest scores first; none where its model was measured before they were counted.

    Args:
        lists: the neuron's row of the statement `neuron_lists`, or none.
    """
    counts = next((row["logit_counts"] for row in lists), None) or []
    of = thresholds("logit_histograms")
    edges = [of["bin_width"] * place - of["largest_z"] for place in range(len(counts) - 1)]
    columns = {"z_from": [None, *edges], "z_to": [*edges, None], "n_tokens": counts} if counts else {}
    return pl.DataFrame(columns, schema=dict(LOGIT_COLUMNS))


def tails(logits: pl.DataFrame) -> tuple[int, int]:
    """How many tokens lie below and above `TAIL_Z` standard deviations."""
    below = logits.filter(pl.col("z_to") <= -TAIL_Z).get_column("n_tokens").sum()
    above = logits.filter(pl.col("z_from") >= TAIL_Z).get_column("n_tokens").sum()
    return int(below), int(above)


def logits_sentence(logits: pl.DataFrame, facts: Mapping[str, Any]) -> str:
    """What the tails hold, beside what a normal distribution would; nothing without bins."""
    if logits.is_empty():
        return ""
    n_tokens = int(logits.get_column("n_tokens").sum())
    if facts["kurtosis"] is None:
        return f"All {n_tokens:,} tokens have the same score."
    below, above = tails(logits)
    expected = n_tokens * NormalDist().cdf(-TAIL_Z)
    return (
        f"Of {n_tokens:,} tokens, {above:,} lie {TAIL_Z} standard deviations above the mean or higher and {below:,} as"
        f" far below it; of as many normal numbers {expected:.2g} would on either side. Excess kurtosis"
        f" {facts['kurtosis']:.2f}, skewness {facts['skewness']:.2f}."
    )


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
        profile = frequencies(row["counts_64"], row["n_sequences"], last - row["first_position"] + 1)
        profiles.append({**row, "last_position": last, "frequencies": profile, "profile": sparkline(profile)})
    return profiles
