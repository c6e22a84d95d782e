"""How the scores of all tokens spread around their mean in one neuron's value vector."""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE
from neurothek.queries.names.tokens import Row
from neurothek.queries.views.thresholds import thresholds

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


def told_logits(logits: pl.DataFrame, facts: Mapping[str, Any]) -> str:
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
