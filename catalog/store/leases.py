"""What threads of one process share: DuckDB opens a file once per process, either for reading or for writing."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar, cast
from weakref import WeakSet

import duckdb

from neurothek.catalog.store.connections import close, undisturbed

_LOST_SECONDS = 0.2
"""How often a waiting thread checks whether a holder ended without giving its lease back."""

_LINGERS_SECONDS = 0.3
"""How long a connection that nobody leases stays open where readers are expected."""

_YIELDS_SECONDS = 1.0
"""After how long it is closed however often it is leased: processes that want to write wait for that moment."""


class _Lease:
    """A right to the file. It ends with its holder, where Ctrl-C left no time to give it back."""


_Leases = WeakSet[_Lease]


@dataclass
class _Instance:
    """Who uses one file in this process, or waits to write it, and the connection that its readers share."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    connection: duckdb.DuckDBPyConnection | None = None
    state: object = None
    opened_at: float = 0.0
    left_at: float = 0.0
    closer: threading.Timer | None = None
    readers: _Leases = field(default_factory=WeakSet)
    writers: _Leases = field(default_factory=WeakSet)
    waiting: _Leases = field(default_factory=WeakSet)
    expecting: _Leases = field(default_factory=WeakSet)
    read: list[BinaryIO] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Whether DuckDB has the file open, or is about to."""
        return bool(self.readers or self.writers or self.connection is not None)

    def wait_while(self, *others: _Leases) -> None:
        """Let go of the condition until none of them is held."""
        while any(others):
            self.changed.wait(_LOST_SECONDS)

    def leave(self, lease: _Lease) -> None:
        """Give a lease back; the last reader to leave closes the connection, now or soon."""
        for leases in (self.readers, self.writers, self.waiting, self.expecting):
            leases.discard(lease)
        if not self.readers and self.connection is not None:
            self.left_at = time.monotonic()
            is_expected = any(self.expecting) and not any(self.waiting)
            if not is_expected or self.left_at - self.opened_at > _YIELDS_SECONDS or not self._close_soon():
                self.close()
        self.close_read()
        self.changed.notify_all()

    def close(self) -> None:
        """Close the connection that readers shared."""
        closer, self.closer = self.closer, None
        if closer is not None:
            # A thread that Python's end cuts off keeps modules alive, of which DuckDB's own complains.
            closer.cancel()
        connection, self.connection = self.connection, None
        if connection is not None:
            close(connection)

    def close_read(self) -> None:
        """Close files that were read beside DuckDB, once it no longer has the file open."""
        while self.read and not self.is_open:
            self.read.pop().close()

    def _close_soon(self, seconds: float = _LINGERS_SECONDS) -> bool:
        """Have a thread close the connection unless it is leased again; False if there is no memory for one."""
        if self.closer is not None:
            return True
        self.closer = closer = threading.Timer(seconds, self._close_if_idle)
        closer.daemon = True
        try:
            closer.start()
        except RuntimeError:
            self.closer = None
            return False
        return True

    def _close_if_idle(self) -> None:
        with self.changed:
            if self.closer is not threading.current_thread():
                return
            self.closer = None
            if self.readers or self.connection is None:
                return
            left = self.left_at + _LINGERS_SECONDS - time.monotonic()
            if left <= 0 or not self._close_soon(left):
                self.close()
                self.close_read()


_INSTANCES: dict[Path, _Instance] = {}
_GUARD = threading.Lock()


def _instance(path: Path) -> _Instance:
    with _GUARD:
        return _INSTANCES.setdefault(path.resolve(), _Instance())


def _close_idle() -> None:
    """Close what nobody leases: a child that inherits an open file has no lock on it, nor the thread that closes it."""
    for instance in [*_INSTANCES.values()]:
        if instance.changed.acquire(blocking=False):
            try:
                if not instance.readers:
                    instance.close()
            finally:
                instance.changed.release()


os.register_at_fork(before=_close_idle)


OpenState = TypeVar("OpenState")


@contextmanager
def shared_reader(
    path: Path,
    open_connection: Callable[[], tuple[duckdb.DuckDBPyConnection, OpenState]],
    is_current: Callable[[OpenState], bool] = lambda state: True,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, OpenState]]:
    """Yield a cursor of the connection that this process's readers share; the last one to leave closes it.

    With it comes what was found when the connection was opened. A connection may not be used by two threads at once,
    its cursors may. One that lingers is used again if what was found is still so.
    """
    instance, lease = _instance(path), _Lease()
    try:
        with instance.changed:
            instance.wait_while(instance.writers, instance.waiting)
            if (
                not instance.readers
                and instance.connection is not None
                and not is_current(cast("OpenState", instance.state))
            ):
                instance.close()
            instance.readers.add(lease)
            if instance.connection is None:
                instance.connection, instance.state = open_connection()
                instance.opened_at = time.monotonic()
            cursor, state = instance.connection.cursor(), cast("OpenState", instance.state)
        try:
            yield cursor, state
        finally:
            with undisturbed():
                close(cursor)
    finally:
        with undisturbed(), instance.changed:
            instance.leave(lease)


@contextmanager
def lingering(path: Path) -> Iterator[None]:
    """Within the block, the connection that readers share is closed a moment after the last of them left.

    To open a file takes DuckDB 50 ms, whatever is then asked; who asks many times soon after each other opens it once.
    """
    instance, lease = _instance(path), _Lease()
    try:
        with instance.changed:
            instance.expecting.add(lease)
        yield
    finally:
        with undisturbed(), instance.changed:
            instance.leave(lease)


@contextmanager
def read_beside(path: Path) -> Iterator[BinaryIO]:
    """Open the file itself, which may be open by DuckDB as well.

    When a process closes a file, however often it has it open, the operating system drops DuckDB's lock on it: while
    there are leases, it is not closed.
    """
    instance = _instance(path)
    file = path.open("rb")
    try:
        yield file
    finally:
        with undisturbed(), instance.changed:
            instance.read.append(file)
            instance.close_read()


def has_leases(path: Path) -> bool:
    """Whether a thread of this process has the file open by DuckDB, or is about to."""
    instance = _instance(path)
    with instance.changed:
        return instance.is_open


def has_other_leases(path: Path) -> bool:
    """Whether this process has another warehouse open, too."""
    mine = _instance(path)
    with _GUARD:
        others = [instance for instance in _INSTANCES.values() if instance is not mine]
    return any(instance.is_open for instance in others)


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Wait until no thread of this process reads or writes the file, and keep the others out."""
    instance, lease = _instance(path), _Lease()
    try:
        with instance.changed:
            instance.waiting.add(lease)
            instance.wait_while(instance.readers, instance.writers)
            with undisturbed():
                # One that lingers, or that a lost reader left open.
                instance.close()
                instance.leave(lease)
            instance.writers.add(lease)
        yield
    finally:
        with undisturbed(), instance.changed:
            instance.leave(lease)
