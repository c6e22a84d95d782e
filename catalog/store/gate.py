"""The queue that DuckDB's file lock lacks: readers pass together, a publisher passes alone and is not starved."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

from neurothek.catalog.problems import Busy
from neurothek.catalog.store.damage import unwritable_warehouse

SAID_AFTER_SECONDS = 2.0
"""A wait that is longer is said."""


class Wait:
    """One lease's wait for other processes: when it ends, and whether a person was told of it."""

    def __init__(self, warehouse: Path, seconds: float) -> None:
        """Begin to wait, for `seconds` at most."""
        self._warehouse = warehouse
        now = time.monotonic()
        self._until, self._said_at, self._is_said = now + seconds, now + SAID_AFTER_SECONDS, False

    @property
    def left(self) -> float:
        """Seconds until it is given up."""
        return max(0.0, self._until - time.monotonic())

    @property
    def quiet(self) -> float:
        """Seconds until it is to be said, if it is not given up before."""
        return self.left if self._is_said else min(self.left, max(0.0, self._said_at - time.monotonic()))

    def say(self, holder: str | None) -> None:
        """Say on stderr, once, who is waited for."""
        if not self._is_said and time.monotonic() >= self._said_at and self.left > 0:
            # Here, as few wait.
            from neurothek.catalog.terminal.console import note  # noqa: PLC0415

            self._is_said = True
            note(f"waiting for {holder or 'another process'}, which uses {self._warehouse}")


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
    def shared(self, wait: Wait) -> Iterator[None]:
        """Pass with other readers; where no publisher ever made a lock file, or none can write, there is no gate."""
        if not os.access(self._path, os.W_OK):
            yield
            return
        try:
            lock = self._lock()
            self._acquire(lock.acquire_read, wait)
        except filelock.Timeout as error:
            raise self._closed() from error
        except (OSError, sqlite3.Error) as error:
            # Somebody put something else there, such as a link to a file of another place.
            raise unwritable_warehouse(self._warehouse, str(error)) from error
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def exclusive(self, wait: Wait) -> Iterator[None]:
        """Pass alone."""
        try:
            lock = self._lock()
            self._acquire(lock.acquire_write, wait)
        except filelock.Timeout as error:
            raise self._closed() from error
        except (OSError, sqlite3.Error) as error:
            raise unwritable_warehouse(self._warehouse, str(error)) from error
        try:
            yield
        finally:
            lock.release()

    def _acquire(self, acquire: Callable[..., object], wait: Wait) -> None:
        try:
            acquire(timeout=wait.quiet)
        except filelock.Timeout:
            wait.say(_lock_holder(self._path))
            acquire(timeout=wait.left)

    def _closed(self) -> Busy:
        """The gate stayed closed."""
        return Busy(
            f"{self._warehouse} is still in use by another neurothek process",
            "repeat the command when that one is done",
            path=self._path,
        )

    def _lock(self) -> filelock.ReadWriteLock:
        # One instance a lease: threads that wait for each other may not share one.
        return filelock.ReadWriteLock(self._path, is_singleton=False)


def _lock_holder(path: Path) -> str | None:
    """The process that has a lock on a file, where the system lists locks: Linux does."""
    try:
        status, locks = path.stat(), Path("/proc/locks").read_text("ascii").splitlines()
    except OSError:
        return None
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    # "1: POSIX  ADVISORY  WRITE 4242 08:01:131 0 EOF"; of those that wait, a line has an arrow before the kind.
    fields = [line.split() for line in locks if "->" not in line]
    pids = {int(field[4]) for field in fields if field[5] == place} - {os.getpid(), 0, -1}
    return f"the process {min(pids)}" if pids else None
