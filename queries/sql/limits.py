"""What a query that a person typed may use, and what it returns."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_type_hints

from neurothek.catalog.arguments import bad_argument, require

if TYPE_CHECKING:
    import polars as pl

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
        rows: how many rows are returned; all, if None.
        threads: how many threads it may use.
        is_watched: whether the asking process watches the memory of the one that answers; where the operating system
            keeps to a limit on addresses it need not.
    """

    seconds: float = 30.0
    memory_bytes: int = 1_500_000_000
    rows: int | None = None
    threads: int = min(4, os.cpu_count() or 1)
    is_watched: bool = sys.platform != "linux"

    def __post_init__(self) -> None:
        """Refuse what bounds nothing, or leaves no room."""
        for name, kind in get_type_hints(Limits).items():
            require(kind, **{name: getattr(self, name)})
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if name == "rows" and value is None:
                continue
            if not least <= value <= most:
                raise bad_argument(name, value, f"give a number from {least:,} to {most:,}")


@dataclass(frozen=True)
class Answer:
    """Rows of a query that a person typed.

    Attributes:
        frame: the rows, at most as many as the limits say.
        is_truncated: whether there were more.
        n_rows: how many there are, returned or not; None where counting them took too long.
    """

    frame: pl.DataFrame
    is_truncated: bool
    n_rows: int | None

    @property
    def shown(self) -> str:
        """How many rows these are of how many."""
        if not self.is_truncated:
            return f"{self.frame.height:,} row{'s' * (self.frame.height != 1)}"
        return f"the first {self.frame.height:,} of {'more' if self.n_rows is None else f'{self.n_rows:,}'} rows"
