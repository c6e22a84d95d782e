"""Rows of the view `explanations` as people read them: each text with its scores, each score beside its controls."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from neurothek.catalog.spelling import one_line

CONTROLS: Mapping[str, Sequence[str]] = {
    "detection": ("borrowed", "random_text", "made_up_unit", "shuffled"),
    "fuzzing": ("borrowed", "random_text", "made_up_unit", "shuffled"),
    "intruder": ("made_up_unit", "shuffled"),
}
"""Method -> its controls, as the ends of names of columns."""

REMARK = (
    "detection, fuzzing: balanced accuracy, by chance 0.5; intruder: share named, by chance 0.2; low, high: 95%\n"
    "borrowed: with another neuron's text; random: random words; made-up: random contexts; shuffled: other labels"
)


SCORES_OF_WORDS = (
    "Detection and fuzzing: balanced accuracy, by chance 0.5; intruder: share of odd contexts that were named, by "
    "chance 0.2. Controls: another neuron's text, random words, random contexts, shuffled labels. Paulo et al. 2024; "
    "controls: this project."
)
"""What scores and controls are, below those of a page."""


def titled(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each explanation as a title, and its scores; without any the title says why."""
    for row in rows.to_dicts():
        judged = "" if row["judge"] in (None, row["explainer"]) else f", judged by {one_line(row['judge'])}"
        title = (
            f"explained at {row['pole']} activations by {one_line(row['explainer'])}{judged}: {one_line(row['text'])}"
        )
        scores = methods_of(row)
        if scores.is_empty():
            title += f" ({why_unscored(row)})"
        yield title, scores


def in_one_line(rows: pl.DataFrame) -> str | None:
    """The explanation with the best detection, in a line with its score and its best control; None without any.

    Args:
        rows: of one neuron.
    """
    if rows.is_empty():
        return None
    row = max(rows.to_dicts(), key=lambda row: -1.0 if row["detection"] is None else row["detection"])
    if row["detection"] is None:
        return f"“{one_line(row['text'])}” ({why_unscored(row)})"
    controls = [row[f"detection_{one}"] for one in CONTROLS["detection"] if row[f"detection_{one}"] is not None]
    beside = f", its best control {max(controls):.2f}" if controls else ", without controls"
    return f"“{one_line(row['text'])}” (detection {row['detection']:.2f}{beside})"


def why_unscored(row: Mapping[str, Any]) -> str:
    """Why an explanation has no scores."""
    if row["n_failed"]:
        return f"no score: {row['n_failed']:,} contexts were judged without an answer that can be read"
    return "no score: nobody has judged it yet"


def methods_of(row: Mapping[str, Any]) -> pl.DataFrame:
    """Scores of one explanation: a row for each method, with its controls."""
    lines = []
    for method, controls in CONTROLS.items():
        if row[method] is None and all(row[f"{method}_{one}"] is None for one in controls):
            continue
        values = {one: row[f"{method}_{one}"] if one in controls else None for one in CONTROLS["detection"]}
        lines.append(
            {"method": method, "score": row[method], "low": row[f"{method}_low"], "high": row[f"{method}_high"]}
            | {"borrowed": values["borrowed"], "random": values["random_text"]}
            | {"made-up": values["made_up_unit"], "shuffled": values["shuffled"]}
        )
    numbers = ("score", "low", "high", "borrowed", "random", "made-up", "shuffled")
    return pl.DataFrame(lines, schema={"method": pl.String, **dict.fromkeys(numbers, pl.Float64)})
