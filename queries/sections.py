"""An answer of several tables: each with a title for people and a name for programs."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Section:
    """One table of an answer.

    Attributes:
        title: what it shows, one line.
        frame: the rows; texts are exact, whoever shows them marks white space.
        remark: a sentence under the table, or nothing.
    """

    title: str
    frame: pl.DataFrame
    remark: str = ""


def first_of(title: str, frame: pl.DataFrame, limit: int, remark: str = "") -> Section:
    """The first `limit` rows of a frame; where there are more, a remark under them says how many."""
    cut = f"the first {limit:,} of {frame.height:,}" if frame.height > limit else ""
    return Section(title, frame.head(limit), "\n".join(part for part in (cut, remark) if part))
