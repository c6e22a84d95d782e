"""The processes that answer SQL which people typed, the rows that they send, and the watch over time and memory."""

from __future__ import annotations

import atexit
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from neurothek.catalog.arguments import bad_argument, require
from neurothek.catalog.problems import LimitExceeded, NeurothekError
from neurothek.queries.errors.refused_sql import failed_query, stopped_query
from neurothek.queries.sql.serving import serving

if TYPE_CHECKING:
    import polars as pl

    from neurothek.catalog.store.connections import Served


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
def answering_process(served: Served | None = None) -> Iterator[tuple[Process, int | None]]:
    """A process that reads one question on its stdin; whatever happens, it does not outlive the question.

    Args:
        served: what reads files for it.

    Yields:
        The process, and the number of the open file by which it asks for bytes of these.
    """
    if served is not None:
        with serving(served) as theirs:
            process = _started(theirs)
            try:
                yield process, theirs
            finally:
                _end(process)
        return
    ahead = _taken()
    process = ahead or _started()
    try:
        yield process, None
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


def _started(inherited: int | None = None) -> Process:
    """A new process with this one's modules, and one open file of it."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "neurothek.queries.sql.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pass_fds=() if inherited is None else (inherited,),
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


_GRACE_SECONDS = 1.0
"""DuckDB ends a query at its time limit itself, except inside one long step; then the process is ended."""

_STEP_SECONDS = 0.05

_FOR_WANT_OF_MEMORY = {signal.SIGABRT, signal.SIGBUS, signal.SIGKILL, signal.SIGSEGV}
"""Signals by which a library that gets no memory ends its process, or the operating system does."""

_NO_MEMORY = re.compile(
    r"out of memory|allocation failure|(could not|cannot|failed to) (allocate|pin|offload)|MemoryError|bad_alloc",
    re.IGNORECASE,
)


class AnswerStream:
    """Frames of one answer, in order; a process that ends before its answer does raises what it died of.

    Attributes:
        n_read: how many rows have come.
        is_truncated: whether there are more than were asked for; known when the frames are through.
        n_rows: how many there are, None where counting them took too long; known likewise.
    """

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits) -> None:
        """Read what `process` answers, from the byte on that says that the query begins."""
        assert process.stdout is not None
        self.n_read = 0
        self.is_truncated = False
        self.n_rows: int | None = None
        self._process, self._limits = process, limits
        self._answers = io.BufferedReader(process.stdout)  # type: ignore[type-var]  # raw, as it is not buffered
        self._watch = _Watch(process, limits)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The frames, each once; at least one, so that columns are known."""
        import polars as pl  # noqa: PLC0415  (slips are told without it)

        with self._watch:
            while "truncated" not in (message := self._line()):
                if "error" in message:
                    raise _error(message["error"], self._limits)
                rows = self._answers.read(message.get("bytes", 0))
                if not rows or len(rows) < message["bytes"]:
                    raise self._why_none()
                frame = pl.read_ipc_stream(io.BytesIO(rows))
                self.n_read += frame.height
                yield frame
            self.is_truncated = bool(message["truncated"])
            # It may die of counting what it did not send: the rows are here all the same.
            self.n_rows = self._line(is_needed=False).get("n_rows")

    def _line(self, *, is_needed: bool = True) -> dict[str, Any]:
        line = self._answers.readline()
        if line.endswith(b"\n"):
            message: dict[str, Any] = json.loads(line)
            return message
        if is_needed:
            raise self._why_none()
        return {}

    def _why_none(self) -> NeurothekError:
        """What the process died of before its answer was whole."""
        exit_code = self._process.wait()
        assert self._process.stderr is not None
        text = self._process.stderr.read().decode(errors="replace").strip()
        if self._watch.ended_for is not None:
            return _too_long(self._limits) if self._watch.ended_for == "time" else _too_much(self._limits)
        if -exit_code in _FOR_WANT_OF_MEMORY or _NO_MEMORY.search(text):
            error: NeurothekError = _too_much(self._limits)
        else:
            why = signal.strsignal(-exit_code) if exit_code < 0 else None
            error = failed_query(f"the query process ended without an answer ({why or f'exit code {exit_code}'})")
        error.add_note(f"its exit code was {exit_code}; its error output: {text[-2000:]}")
        return error


class _Watch:
    """Ends a process at its time limit, and at its memory limit where the operating system does not.

    It does so by a thread: who reads what the process writes waits for it, and may wait for who reads the rows.

    Attributes:
        ended_for: what the process was ended for; None if it was not.
    """

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits) -> None:
        self.ended_for: Literal["time", "memory"] | None = None
        self._process, self._limits = process, limits
        self._is_over = threading.Event()
        self._deadline = time.monotonic() + limits.seconds + _GRACE_SECONDS
        self._most_bytes = limits.memory_bytes + _resident_bytes(process.pid) if limits.is_watched else 0
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        left = max(0.0, self._deadline - time.monotonic())
        while not self._is_over.wait(min(left, _STEP_SECONDS) if self._limits.is_watched else left):
            left = self._deadline - time.monotonic()
            if left <= 0:
                return self._end("time")
            if self._limits.is_watched and _resident_bytes(self._process.pid) > self._most_bytes:
                return self._end("memory")
        return None

    def _end(self, reason: Literal["time", "memory"]) -> None:
        self.ended_for = reason
        self._process.kill()


def _error(fields: Mapping[str, Any] | None, limits: Limits) -> NeurothekError:
    """The error of the process that answers, by its fields; None where memory was refused."""
    error = None if fields is None else NeurothekError.from_dict(fields)
    if error is not None and "maximum execution time" in error.message:
        return _too_long(limits)
    if error is None or _NO_MEMORY.search(str(error)):
        return _too_much(limits)
    return error


def _too_long(limits: Limits) -> LimitExceeded:
    return stopped_query(f"took more than {limits.seconds:g} s", "--seconds")


def _too_much(limits: Limits) -> LimitExceeded:
    return stopped_query(f"needed more than {limits.memory_bytes / 1e9:g} GB of memory", "--memory")


def _resident_bytes(pid: int) -> int:
    """Memory of a process, wherever there is a `ps`; 0 for one that has ended."""
    process = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603, S607  (no text of a person's)
    return int(process.stdout.strip() or 0) * 1024
