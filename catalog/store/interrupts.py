"""Ctrl-C or a time limit while DuckDB works: it checks for them between its tasks and raises its own errors."""

import atexit
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol
from weakref import WeakSet

import duckdb

from neurothek.catalog.problems import memory_refused

_INTERRUPTING_SECONDS = 5.0
"""Far more than it takes."""


class Interruptible(Protocol):
    """What can be told to end, from any thread: a connection, for one."""

    def interrupt(self) -> None:
        """End what is under way."""


@contextmanager
def keyboard_interrupts(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """End what `connection` runs as soon as Ctrl-C is pressed, and raise the KeyboardInterrupt that it came from.

    Python runs its own handler of the signal when DuckDB returns, which may be never: a thread hears of the signal
    at once, and interrupts the query.
    """
    with interrupted_by_keyboard(connection) as interrupted:
        try:
            yield
        except (RuntimeError, duckdb.Error) as error:
            if str(error) != "Query interrupted" and not interrupted.is_set():
                raise
            raise KeyboardInterrupt from error


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold Ctrl-C back until the block is through: a half-closed connection would block everyone else.

    The KeyboardInterrupt is raised at the block's end.
    """
    if not _is_ours():
        yield
        return
    pressed = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed.is_set():
        raise KeyboardInterrupt


def close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection; for the moment that another thread takes to interrupt it, DuckDB refuses to."""
    until = time.monotonic() + _INTERRUPTING_SECONDS
    while time.monotonic() < until:
        with suppress(duckdb.ResourceInUseException):
            return connection.close()
        time.sleep(0.001)
    return connection.close()


@contextmanager
def time_limit(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[threading.Event]:
    """Interrupt what `connection` runs after so many seconds; the event says whether that happened."""
    expired = threading.Event()

    def stop() -> None:
        expired.set()
        connection.interrupt()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield expired
    finally:
        timer.cancel()
        timer.join()


@contextmanager
def interrupted_by_keyboard(work: Interruptible) -> Iterator[threading.Event]:
    """Interrupt the work at each SIGINT, from a thread of its own; the event says whether there was one.

    It happens even where the KeyboardInterrupt falls between two steps of a clean-up and skips the rest of it.
    """
    hearing = _Hearing(work)
    if not _is_ours():
        yield hearing.interrupted
        return
    try:
        with undisturbed():
            _ear().begin(hearing)
        yield hearing.interrupted
    finally:
        with undisturbed():
            _ear().end(hearing)


@dataclass(eq=False)
class _Hearing:
    """What to interrupt at each SIGINT, and whether there was one."""

    work: Interruptible
    interrupted: threading.Event = field(default_factory=threading.Event)


class _Ear:
    """Hears of signals at once, by a thread of its own: one for a process, which stays.

    Ctrl-C may come before a hearing is ended; it then ends with its holder, and nothing that others use was closed.
    """

    def __init__(self) -> None:
        # Python may end a hearing that was given up, at any moment, in a thread that holds it.
        self._lock = threading.RLock()
        self._listening, self._telling = socket.socketpair()
        self._telling.setblocking(False)
        self._before = -1
        self._hearings = WeakSet[_Hearing]()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            # There is no memory for its stack.
            self._listening.close()
            self._telling.close()
            raise memory_refused(error) from error
        # A thread that Python's end cuts off keeps modules alive, of which DuckDB's own complains.
        atexit.register(self._stop)

    def begin(self, hearing: _Hearing) -> None:
        """From the main thread alone, as only it may say who is told of signals."""
        with self._lock:
            self._hearings.add(hearing)
            before = signal.set_wakeup_fd(self._telling.fileno(), warn_on_full_buffer=False)
            if before != self._telling.fileno():
                self._before = before

    def end(self, hearing: _Hearing) -> None:
        """When this returns, its work is not being interrupted."""
        with self._lock:
            self._hearings.discard(hearing)
            if not self._hearings:
                self._restore()

    def _stop(self) -> None:
        self._restore()
        # The end of the stream ends the thread.
        self._telling.close()
        self._thread.join()

    def _restore(self) -> None:
        """Tell of signals whoever was told before, who may be gone."""
        if threading.current_thread() is threading.main_thread():
            with suppress(OSError, ValueError):
                signal.set_wakeup_fd(self._before, warn_on_full_buffer=False)

    def _listen(self) -> None:
        while numbers := self._listening.recv(16):
            if signal.SIGINT in numbers:
                with self._lock:
                    for hearing in list(self._hearings):
                        hearing.interrupted.set()
                        with suppress(duckdb.Error):  # it may be closed
                            hearing.work.interrupt()


@cache
def _ear() -> _Ear:
    return _Ear()


# A process that is forked off has none of the threads.
os.register_at_fork(after_in_child=_ear.cache_clear)


def _is_ours() -> bool:
    """Whether Ctrl-C comes to this thread, and as Python has it: other handlers decide for themselves what it means."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
