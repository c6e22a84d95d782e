"""The processes that answer SQL which people typed: one per question, started when it is asked or ahead of it."""

import atexit
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

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
