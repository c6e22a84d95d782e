"""The queue that DuckDB's file lock lacks: readers pass together, a publisher passes alone and is not starved."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from catalog.errors import NeurothekError


class GateTimeout(NeurothekError):
    """The gate stayed closed."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is still in use by another neurothek process; repeat the command when that one is done"
        )


class Gate:
    """A file lock beside the warehouse, held by readers only while they open and by a publisher while it publishes.

    DuckDB refuses to open a file for writing while anyone reads it. Readers in a loop would keep a publisher out for
    ever; behind the gate the readers that come later wait until the publisher is done.
    """

    def __init__(self, warehouse: Path) -> None:
        """Name the lock after the warehouse file."""
        self._warehouse = warehouse
        self._path = warehouse.with_name(warehouse.name + ".lock")

    @contextmanager
    def shared(self, deadline: float) -> Iterator[None]:
        """Pass with other readers; where no publisher ever made a lock file, or none can write, there is no gate."""
        if not os.access(self._path, os.W_OK):
            yield
            return
        lock = self._lock()
        try:
            lock.acquire_read(timeout=_left(deadline))
        except filelock.Timeout as error:
            raise GateTimeout(self._warehouse) from error
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def exclusive(self, deadline: float) -> Iterator[None]:
        """Pass alone.

        Raises:
            GateTimeout: others held the gate past the deadline.
            GateUnwritable: the lock file cannot be made.
        """
        try:
            lock = self._lock()
            lock.acquire_write(timeout=_left(deadline))
        except filelock.Timeout as error:
            raise GateTimeout(self._warehouse) from error
        except (OSError, sqlite3.Error) as error:
            raise GateUnwritable(self._warehouse, error) from error
        try:
            yield
        finally:
            lock.release()

    def _lock(self) -> filelock.ReadWriteLock:
        # One instance a lease: threads that wait for each other may not share one.
        return filelock.ReadWriteLock(self._path, is_singleton=False)


class GateUnwritable(NeurothekError):
    """The folder or disk does not take the lock file."""

    def __init__(self, path: Path, error: Exception) -> None:
        super().__init__(f"{path} could not be written ({error}); choose another place with --warehouse")


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
