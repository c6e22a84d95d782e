"""What threads of one process share: DuckDB opens a file once a process, either for reading or for writing."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb


@dataclass
class _Instance:
    """Who uses one file in this process, and the connection that its readers share."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    connection: duckdb.DuckDBPyConnection | None = None
    readers: int = 0
    writing: bool = False
    writers_waiting: int = 0


_INSTANCES: dict[Path, _Instance] = {}
_GUARD = threading.Lock()


def _instance(path: Path) -> _Instance:
    with _GUARD:
        return _INSTANCES.setdefault(path.resolve(), _Instance())


@contextmanager
def shared_reader(
    path: Path, open_connection: Callable[[], duckdb.DuckDBPyConnection]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a cursor of the connection that this process's readers share; the last one to leave closes it.

    A connection may not be used by two threads at once, its cursors may.
    """
    instance = _instance(path)
    with instance.changed:
        instance.changed.wait_for(lambda: not instance.writing and not instance.writers_waiting)
        if instance.connection is None:
            instance.connection = open_connection()
        cursor = instance.connection.cursor()
        instance.readers += 1
    try:
        yield cursor
    finally:
        with instance.changed:
            cursor.close()
            instance.readers -= 1
            if instance.readers == 0 and instance.connection is not None:
                instance.connection.close()
                instance.connection = None
            instance.changed.notify_all()


@contextmanager
def sole_writer(path: Path) -> Iterator[None]:
    """Wait until no thread of this process reads or writes the file, and keep the others out."""
    instance = _instance(path)
    with instance.changed:
        instance.writers_waiting += 1
        try:
            instance.changed.wait_for(lambda: not instance.writing and not instance.readers)
            instance.writing = True
        finally:
            instance.writers_waiting -= 1
    try:
        yield
    finally:
        with instance.changed:
            instance.writing = False
            instance.changed.notify_all()
