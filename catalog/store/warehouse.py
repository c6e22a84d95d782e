"""The one door to DuckDB: short leases on the warehouse file, for many readers or one writer."""

import glob
import os
import re
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import filelock

from neurothek.catalog.advice import command_line
from neurothek.catalog.arguments import expanded
from neurothek.catalog.problems import Busy, Conflict, NeurothekError, NeurothekWarning, Unreadable
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.store import schema
from neurothek.catalog.store.connections import Served, close, keyboard_interrupts, lock_down, settings_of
from neurothek.catalog.store.damage import (
    damage_told,
    damaged,
    followed,
    invalid_warehouse,
    is_damage,
    log_of,
    missing_warehouse,
    refuse_file,
    require_log_head,
    unwritable_warehouse,
)
from neurothek.catalog.store.leases import lingering, shared_reader, sole_writer
from neurothek.catalog.store.matrices import tidy
from neurothek.catalog.store.schema import Judgement, Objects, ViewInstaller, judged, objects_of
from neurothek.catalog.tables import versions

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


WAIT_SECONDS = 60.0
"""How long a lease waits for other processes before it gives up."""


@dataclass
class _Held:
    """The objects of a file that was opened, what the file looked like then, and what was found of them."""

    state: object
    objects: Objects
    judgements: dict[ViewInstaller | None, Judgement] = field(default_factory=dict)


_HELD: dict[Path, _Held] = {}

_RETRY_SECONDS = 0.02
_UPGRADE_SECONDS = 2.0

Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class Warehouse:
    """A path, and what to install in it; it holds no connection."""

    path: Path  # the DuckDB file
    views: ViewInstaller | None = None  # installs the views that people query; None leaves the schema `main` alone
    wait_seconds: float = WAIT_SECONDS  # how long a lease waits for other processes
    # settings of DuckDB that bound what readers may use, as (name, value)
    reader_settings: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Follow links once: the lock and the staging folder go with the file, whatever it is called by."""
        object.__setattr__(self, "path", followed(expanded(self.path)))

    @property
    def staging(self) -> Path:
        """Folder in which unpublished measurements lie."""
        return self.path.with_name(self.path.name + ".staging")

    @property
    def maps(self) -> Path:
        """Folder in which matrices are kept."""
        return self.path.with_name(self.path.name + ".shortcuts")

    @property
    def why_only_read(self) -> NeurothekError | None:
        """What is told who would write; None where a file may be written."""
        return None

    @property
    def served(self) -> Served | None:
        """What answers another process that reads the warehouse and cannot reach its files; None: it can."""
        return None

    def handed_over(self) -> dict[str, Any]:
        """What another process needs to read the warehouse."""
        return {"path": str(self.path)}

    def exists(self) -> bool:
        """Whether there is a file at the path."""
        return self.path.exists()

    def require_writable(self) -> None:
        """Refuse a path that could not be published to, before anything is measured; nothing is created."""
        refuse_file(self.path)
        if not self.path.parent.is_dir():
            raise unwritable_warehouse(self.path, f"there is no folder {self.path.parent}")
        if self.path.exists():
            with self._lease():
                pass
            if not os.access(self.path, os.W_OK):
                raise unwritable_warehouse(self.path, "the file is read-only")
        try:
            with tempfile.TemporaryFile(dir=self.path.parent):
                pass
        except OSError as error:
            raise unwritable_warehouse(self.path, error.strerror or str(error)) from error

    def require_whole(self, *, progress: Progress | None = None) -> None:
        """Read every block of the file, if there is one, and refuse one that is not what was written."""
        # Here, as it takes a tenth of a second to import.
        from neurothek.catalog.store.blocks import require_whole  # noqa: PLC0415

        if self.exists():
            with self._lease() as (connection, _):
                require_whole(connection, self.path, progress=progress or Silent())

    @contextmanager
    def reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lease a read-only connection that cannot reach files, networks or its own settings."""
        with self._lease() as (connection, judgement):
            self._show(connection, judgement)
            yield connection

    @contextmanager
    def writer(self, *, settings: Sequence[tuple[str, str]] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lease the only connection that may write; the file is created and brought to this release's schema.

        It reaches no other file, and its settings, as (name, value), cannot be changed any more.
        """
        refuse_file(self.path)
        wait = Wait(self.path, self.wait_seconds)
        with damage_told(self.path), sole_writer(self.path), self._gate().exclusive(wait):
            if not self.path.exists():
                self._create()
            state = self._state()
            connection = self._connect(wait, read_only=False)
            try:
                with keyboard_interrupts(connection):
                    lock_down(connection, settings)
                    with self._full_disk():
                        self._bring_up_to_date(connection, self._held(state, connection))
                    yield connection
            finally:
                close(connection)

    @contextmanager
    def transaction(self, *, settings: Sequence[tuple[str, str]] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lease the writer for one transaction: all of it happens, or nothing.

        Kept matrices of runs that are no longer there are deleted with the lease still held.
        """
        with self.writer(settings=settings) as connection, self._full_disk():
            connection.execute("begin")
            yield connection
            connection.execute("commit")
            tidy(connection, self.maps)

    def settle(self) -> None:
        """Fold the log that a process left beside the file when it was killed after a commit.

        Readers see what is in the log, but a person who copies the file alone would leave it behind.
        """
        if log_of(self.path).exists():
            self._write_if_free()

    @contextmanager
    def current_reader(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lease a reader of a file that is brought to this release's schema and views first, if it can be written."""
        with self._lease() as (connection, judgement):
            if not self._needs_work(judgement):
                self._show(connection, judgement)
                yield connection
                return
        # Whoever holds the file may read it for hours: this release's views can be had without writing.
        self._write_if_free()
        with self.reader() as connection:
            yield connection

    def _write_if_free(self) -> None:
        """Open the file for writing, which brings it up to date, unless others hold it."""
        try:
            with replace(self, wait_seconds=_UPGRADE_SECONDS).writer():
                pass
        except Busy as error:
            # The lock beside it is a publisher's, for whom also readers wait.
            if error.path != self.path:
                raise

    def _needs_work(self, judgement: Judgement) -> bool:
        is_current = judgement.version == versions.VERSION and (self.views is None or judgement.has_our_views)
        return not is_current and not judgement.strange and self._is_writable()

    def _show(self, connection: duckdb.DuckDBPyConnection, judgement: Judgement) -> None:
        """Put this release's views before those of the file, if they differ."""
        if judgement.version < versions.VERSION:
            look = command_line("models", "--warehouse", str(self.path))
            raise Unreadable(
                f"{self.path} was written by an earlier release and has not been upgraded",
                f"run `{look}` where the file can be written and no other program has it open, then repeat the command",
                path=self.path,
                why="an earlier release wrote it",
            )
        if judgement.strange:
            warnings.warn(
                f"{self.path} contains {judgement.description}, which neurothek did not create: they are ignored, and"
                " nothing is written to this file",
                NeurothekWarning,
                stacklevel=2,
            )
        if self.views is not None and not judgement.has_our_views:
            self.views.define(connection)

    def lingering(self) -> AbstractContextManager[None]:
        """Within the block, readers that follow each other soon share a connection; others who write wait a second."""
        return lingering(self.path)

    def complaints(self) -> AbstractContextManager[None]:
        """Within the block, what DuckDB complains of is a sentence about the warehouse."""
        return damage_told(self.path)

    @contextmanager
    def _lease(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, Judgement]]:
        refuse_file(self.path)
        if not self.path.exists():
            raise missing_warehouse(self.path)
        wait = Wait(self.path, self.wait_seconds)
        with (
            damage_told(self.path),
            shared_reader(self.path, lambda: self._open_reader(wait), self._is_current) as (connection, (held, _)),
            keyboard_interrupts(connection),
        ):
            if self.views not in held.judgements:
                held.judgements[self.views] = judged(self.path, connection, held.objects, self.views)
            yield connection, held.judgements[self.views]

    def _is_writable(self) -> bool:
        return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)

    def _gate(self) -> Gate:
        return Gate(self.path)

    def _is_current(self, state: tuple[_Held, tuple[tuple[str, str], ...]]) -> bool:
        """Whether a connection that was opened before is of the file as it is now, and as bounded as ours."""
        held, settings = state
        return held.state == self._state() and settings == self.reader_settings

    def _open_reader(self, wait: Wait) -> tuple[duckdb.DuckDBPyConnection, tuple[_Held, tuple[tuple[str, str], ...]]]:
        with self._gate().shared(wait):
            state = self._state()
            connection = self._connect(wait, read_only=True)
        try:
            with keyboard_interrupts(connection):
                lock_down(connection, self.reader_settings)
                return connection, (self._held(state, connection), self.reader_settings)
        except duckdb.Error as error:
            close(connection)
            raise damaged(self.path, error) from error
        except BaseException:
            close(connection)
            raise

    def _state(self) -> object:
        return _state_of(self.path), _state_of(log_of(self.path))

    def _held(self, before: object, connection: duckdb.DuckDBPyConnection) -> _Held:
        """The objects of the file, whose state is known from before the connection was opened.

        Other programs may have written while that waited for them: only what looks the same now, too, was seen before.
        """
        held, now = _HELD.get(self.path), self._state()
        if held is None or held.state != before or now != before:
            # As long to list as a file is to open: who opens it again and again does so once.
            held = _HELD[self.path] = _Held(now if now == before else None, objects_of(connection))
        return held

    def _settings(self, *, read_only: bool) -> dict[str, str | bool | int | float | list[str]]:
        return settings_of(read_only=read_only, settings=self.reader_settings if read_only else ())

    def _connect(self, wait: Wait, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        while True:
            require_log_head(self.path)
            try:
                return duckdb.connect(str(self.path), read_only=read_only, config=self._settings(read_only=read_only))
            except duckdb.Error as error:
                self._raise_unless_locked(error, wait, read_only=read_only)
            time.sleep(_RETRY_SECONDS)

    def _raise_unless_locked(self, error: duckdb.Error, wait: Wait, *, read_only: bool) -> None:
        text = str(error)
        if "with a different configuration" in text:
            raise Conflict(
                f"{self.path} is open in this process through duckdb.connect",
                "close that connection and try again",
                what="connection",
                name=self.path,
            ) from error
        if "Could not set lock" not in text and "Conflicting lock" not in text:
            if "not a valid DuckDB database" in text:
                raise invalid_warehouse(self.path, "it is not a DuckDB file") from error
            if "version number" in text:
                raise invalid_warehouse(self.path, "a newer DuckDB wrote it") from error
            if "Cannot open file" in text and read_only:
                raise invalid_warehouse(self.path, _first_line(error)) from error
            if read_only or not isinstance(error, duckdb.IOException) or is_damage(error):
                raise damaged(self.path, error) from error
            raise unwritable_warehouse(self.path, _first_line(error)) from error
        wait.say(_holder(text))
        if wait.left <= 0:
            raise Busy(
                f"{self.path} was still in use by {_holder(text)} after {self.wait_seconds:.0f} s",
                "close it there and repeat the command",
                path=self.path,
            ) from error

    def _create(self) -> None:
        """Make the empty warehouse under a temporary name and move it into place: nobody ever sees half of one."""
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        self._clear_unfinished()
        try:
            with self._full_disk():
                with duckdb.connect(str(fresh), config=settings_of(read_only=False)) as connection:
                    self._bring_up_to_date(connection, _Held(None, {}), is_new=True)
                fresh.replace(self.path)
        finally:
            self._clear_unfinished()

    @contextmanager
    def _full_disk(self) -> Iterator[None]:
        """Say what a disk that refuses to take the file looks like to DuckDB: while it writes, or when it commits."""
        try:
            yield
        except (duckdb.IOException, duckdb.TransactionException, duckdb.FatalException, OSError) as error:
            if is_damage(error):
                raise
            raise unwritable_warehouse(self.path, _first_line(error)) from error

    def _clear_unfinished(self) -> None:
        """Delete unfinished new warehouses; the gate is closed, so those of other processes were left by a kill."""
        for stray in self.path.parent.glob(f".{glob.escape(self.path.name)}.*.new*"):
            stray.unlink(missing_ok=True)

    def _bring_up_to_date(self, connection: duckdb.DuckDBPyConnection, held: _Held, *, is_new: bool = False) -> None:
        # A file with nothing in it is being made, or was left by DuckDB's shell.
        judgement = judged(self.path, connection, held.objects, self.views) if held.objects else None
        if judgement is not None and judgement.strange:
            strange = f"it contains {judgement.description}, which neurothek did not create"
            raise invalid_warehouse(self.path, f"{strange}, so nothing is written to it")
        schema.bring_up_to_date(connection)
        if self.views is not None and (judgement is None or not judgement.has_our_views):
            self.views.install(connection, is_new=is_new)


def first_row(connection: duckdb.DuckDBPyConnection, query: str, parameters: Parameters = ()) -> Row | None:
    """First row of a query, or None; everything is fetched, as a half-read result would block the connection."""
    rows: list[Row] = connection.execute(query, parameters).fetchall()
    return rows[0] if rows else None


def _state_of(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _first_line(error: Exception) -> str:
    return re.sub(r"^[\w ]+ Error: (Failed to commit: )?", "", str(error).splitlines()[0])


def _holder(message: str) -> str:
    process = re.search(r"\(PID (\d+)\)", message)
    return f"the process {process.group(1)}" if process else "another process"
