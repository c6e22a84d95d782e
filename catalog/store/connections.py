"""A connection's settings, what it may reach, and Ctrl-C or a time limit while DuckDB works."""

import atexit
import os
import re
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
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


class Served(Protocol):
    """What reads files for who may not open them."""

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` to `end` of a file, all of them."""


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


STORAGE_VERSION = "v1.5.0"
"""Format of the file, so that DuckDB 1.5 and later open it."""

BLOCK_BYTES = 65_536
"""What a new file is read and written by. A question about one token or one neuron reads a few rows out of many
columns, each from a block of its own: DuckDB's 256 kB take up to twice as long, and the file is no smaller."""

MOST_SOUGHT = 200
"""Values of a small join that DuckDB looks for one by one in a large table, here and not only between the least and the
largest: twice the tokens that a neuron lists. Its own 50 made a question of 100 tokens five times as slow."""


_FOLDERS = ("temp_directory", "secret_directory", "extension_directory", "home_directory")
"""Settings that name folders: a connection that reaches no files takes them as it is opened, and not later."""


def settings_of(
    *, read_only: bool, settings: Sequence[tuple[str, str]] = ()
) -> dict[str, str | bool | int | float | list[str]]:
    """What a connection is opened with; of `settings`, as (name, value), those that name folders."""
    opened_with: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        # From the start: a log that is replayed binds what the file defines.
        "enable_external_access": "false",
        # The process number keeps the spill files of two processes apart.
        "temp_directory": str(Path(tempfile.gettempdir()) / f"neurothek-{os.getpid()}"),
    }
    opened_with.update((name, value) for name, value in settings if name in _FOLDERS)
    if read_only:
        return opened_with
    # Both are only asked of a file that is made.
    return {**opened_with, "storage_compatibility_version": STORAGE_VERSION, "default_block_size": str(BLOCK_BYTES)}


def lock_down(connection: duckdb.DuckDBPyConnection, settings: Sequence[tuple[str, str]] = ()) -> None:
    """Set what bounds a connection, as (name, value), and let no statement change the settings again."""
    (is_locked,) = connection.execute("select current_setting('lock_configuration')").fetchall()[0]
    if is_locked:
        # Ctrl-C left a connection of this process to be closed later: this one has its configuration.
        return
    # A limit on spilled files that is given to connect() is shown but not kept, so all are set here.
    for name, value in [one for one in settings if one[0] not in _FOLDERS]:
        connection.execute(f"set global {name} = '{value}'")
    connection.execute(f"set global dynamic_or_filter_threshold = {MOST_SOUGHT}")
    # Once the configuration is locked nothing else can be set, so that comes last.
    connection.execute("set global lock_configuration = true")


def literal_path(path: Path) -> str:
    """A path for DuckDB's readers, which take some characters for patterns."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def beside(folder: Path, settings: Mapping[str, str] | None = None) -> duckdb.DuckDBPyConnection:
    """A connection to an empty database in memory that reaches the files of one folder, and no others."""
    # Which folder that is can only be said while all can be reached.
    reaching = {key: value for key, value in settings_of(read_only=True).items() if key != "enable_external_access"}
    connection = duckdb.connect(config={**reaching, **(settings or {})})
    places = [write(path) for path in (folder, folder.resolve()) for write in (str, literal_path)]
    connection.execute("set global allowed_directories = $places", {"places": places})
    connection.execute("set global enable_external_access = false")
    connection.execute("set global lock_configuration = true")
    return connection
