"""What a query that a person typed may use, and what comes back of it."""

import os
import sys
from dataclasses import dataclass

import polars as pl

from queries.errors import BadOption

_RANGES = {
    "seconds": (0.1, 10**6),
    # DuckDB opens no file with less.
    "memory_bytes": (20_000_000, 10**18),
    "rows": (1, 10**9),
    "threads": (1, 10**4),
}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of one query.

    Attributes:
        seconds: how long it may run.
        memory_bytes: how much memory its process may take for it.
        rows: how many rows are brought back.
        threads: how many threads it may use.
        is_watched: whether the asking process watches the memory of the one that answers; where the operating system
            keeps to a limit on addresses it need not.
    """

    seconds: float = 30.0
    memory_bytes: int = 1_500_000_000
    rows: int = 10_000
    threads: int = min(4, os.cpu_count() or 1)
    is_watched: bool = sys.platform != "linux"

    def __post_init__(self) -> None:
        """Refuse what bounds nothing, or leaves no room.

        Raises:
            BadOption: a limit is no number, or out of its range.
        """
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise BadOption(name, value, f"it is a number from {least:,} to {most:,}")


@dataclass(frozen=True)
class Answer:
    """Rows of a query that a person typed.

    Attributes:
        frame: the rows, at most as many as the limits say.
        is_truncated: whether there were more.
    """

    frame: pl.DataFrame
    is_truncated: bool
