"""The processes that answer SQL which people typed: one per question, started when it is asked or ahead of it."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, get_type_hints

from neurothek.catalog.arguments import bad_argument, require

if TYPE_CHECKING:
    import polars as pl


Process = subprocess.Popen[bytes]

_FRUGAL = {
    "POLARS_MAX_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    # Arrow's own allocator reserves a gigabyte, or an eighth of one, which counts as taken.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""How libraries are told to reserve little: what they reserve is missing from the memory that a query may take."""

_LOCK = Lock()
_waiting: list[Process] = []
"""One process at most, which has imported what it needs and waits for its question."""


def start_ahead() -> None:
    """Have a process wait for the next question, for who is asked again and again: starting one takes half a second.

    It ends when it is asked, and when this process does, whose end closes the pipe that it reads.
    """
    with _LOCK:
        _forget_the_ended()
        if not _waiting:
            _waiting.append(_started())


@contextmanager
def answering_process() -> Iterator[Process]:
    """A process that reads one question on its stdin; whatever happens, it does not outlive the question."""
    ahead = _taken()
    process = ahead or _started()
    try:
        yield process
    finally:
        _end(process)
        if ahead is not None:
            start_ahead()


def _taken() -> Process | None:
    with _LOCK:
        _forget_the_ended()
        return _waiting.pop() if _waiting else None


def _forget_the_ended() -> None:
    for process in [process for process in _waiting if process.poll() is not None]:
        _waiting.remove(process)
        _end(process)


def _end(process: Process) -> None:
    process.kill()
    process.communicate()


def _started() -> Process:
    """A new process with this one's modules."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "neurothek.queries.sql.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, **_FRUGAL, "PYTHONPATH": path},
    )


@atexit.register
def dismiss() -> None:
    """End the process that waits, if one does."""
    process = _taken()
    if process is not None:
        _end(process)


_RANGES = {
    "seconds": (0.1, 10**6),
    # DuckDB opens no file with less.
    "memory_bytes": (20_000_000, 10**18),
    "rows": (1, 10**9),
    "threads": (1, 10**4),
}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of one query."""

    seconds: float = 30.0  # how long it may run
    memory_bytes: int = 1_500_000_000  # how much memory its process may take for it
    rows: int | None = None  # how many rows are returned; all, if None
    threads: int = min(4, os.cpu_count() or 1)  # how many threads it may use
    # whether the asking process watches the memory of the one that answers; where the operating system keeps to a limit
    # on addresses it need not
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
    def extent(self) -> str:
        """How many rows these are of how many."""
        if not self.is_truncated:
            return f"{self.frame.height:,} row{'s' * (self.frame.height != 1)}"
        return f"the first {self.frame.height:,} of {'more' if self.n_rows is None else f'{self.n_rows:,}'} rows"
