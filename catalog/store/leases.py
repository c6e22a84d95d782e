"""What threads of one process share: DuckDB opens a file once per process, either for reading or for writing."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar, cast
from weakref import WeakSet

import duckdb

from neurothek.catalog.store.interrupts import close, undisturbed

_LOST_SECONDS = 0.2
"""How often a waiting thread checks whether a holder ended without giving its lease back."""


class _Lease:
    """A right to the file. It ends with its holder, where Ctrl-C left no time to give it back."""


_Leases = WeakSet[_Lease]


@dataclass
class _Instance:
    """Who uses one file in this process, or waits to write it, and the connection that its readers share."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    connection: duckdb.DuckDBPyConnection | None = None
    found: object = None
    readers: _Leases = field(default_factory=WeakSet)
    writers: _Leases = field(default_factory=WeakSet)
    waiting: _Leases = field(default_factory=WeakSet)
    read: list[BinaryIO] = field(default_factory=list)

    def wait_while(self, *others: _Leases) -> None:
        """Let go of the condition until none of them is held."""
        while any(others):
            self.changed.wait(_LOST_SECONDS)

    def leave(self, lease: _Lease) -> None:
        """Give a lease back; the last reader to leave closes the connection."""
        for leases in (self.readers, self.writers, self.waiting):
            leases.discard(lease)
        if not self.readers and self.connection is not None:
            connection, self.connection = self.connection, None
            close(connection)
        self.close_read()
        self.changed.notify_all()

    def close_read(self) -> None:
        """Close files that were read beside DuckDB, once it no longer has the file open."""
        while self.read and not self.readers and not self.writers:
            self.read.pop().close()


_INSTANCES: dict[Path, _Instance] = {}
_GUARD = threading.Lock()


def _instance(path: Path) -> _Instance:
    with _GUARD:
        return _INSTANCES.setdefault(path.resolve(), _Instance())


Found = TypeVar("Found")


@contextmanager
def shared_reader(
    path: Path, open_connection: Callable[[], tuple[duckdb.DuckDBPyConnection, Found]]
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Found]]:
    """Yield a cursor of the connection that this process's readers share; the last one to leave closes it.

    With it comes what was found when the connection was opened. A connection may not be used by two threads at once,
    its cursors may.
    """
    instance, lease = _instance(path), _Lease()
    try:
        with instance.changed:
            instance.wait_while(instance.writers, instance.waiting)
            instance.readers.add(lease)
            if instance.connection is None:
                instance.connection, instance.found = open_connection()
            cursor, found = instance.connection.cursor(), cast("Found", instance.found)
        try:
            yield cursor, found
        finally:
            with undisturbed():
                close(cursor)
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
        return bool(instance.readers or instance.writers)


def has_other_leases(path: Path) -> bool:
    """Whether this process has another warehouse open, too."""
    mine = _instance(path)
    with _GUARD:
        others = [instance for instance in _INSTANCES.values() if instance is not mine]
    return any(instance.readers or instance.writers for instance in others)


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Wait until no thread of this process reads or writes the file, and keep the others out."""
    instance, lease = _instance(path), _Lease()
    try:
        with instance.changed:
            instance.waiting.add(lease)
            instance.wait_while(instance.readers, instance.writers)
            # A connection that a lost reader left open is closed, too.
            instance.leave(lease)
            instance.writers.add(lease)
        yield
    finally:
        with undisturbed(), instance.changed:
            instance.leave(lease)
