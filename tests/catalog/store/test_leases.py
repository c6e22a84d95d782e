"""Leases of one process: one connection for all its readers, one writer alone, and nothing open after the last."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import eq
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store import leases
from neurothek.catalog.store.leases import (
    has_leases,
    has_other_leases,
    lingering,
    read_beside,
    shared_reader,
    sole_writer,
)

LONG_SECONDS = 20.0


class Opener:
    """Opens a database in memory and counts how often it was asked to."""

    def __init__(self) -> None:
        self.opened: list[duckdb.DuckDBPyConnection] = []

    def __call__(self) -> tuple[duckdb.DuckDBPyConnection, str]:
        connection = duckdb.connect()
        connection.execute("create table numbers as select 7 as n")
        self.opened.append(connection)
        return connection, f"opened {len(self.opened)}"


def is_open(connection: duckdb.DuckDBPyConnection) -> bool:
    try:
        connection.execute("select 1")
    except duckdb.ConnectionException:
        return False
    return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "w.duckdb"
    path.write_bytes(b"content")
    return path


def test_readers_share_a_connection_and_the_last_one_closes_it(path: Path) -> None:
    opener = Opener()
    with shared_reader(path, opener) as (one, found):
        with shared_reader(path, opener) as (other, found_again):
            assert one is not other
            assert found == found_again == "opened 1"
            assert one.execute("from numbers").fetchall() == other.execute("from numbers").fetchall() == [(7,)]
        (connection,) = opener.opened
        assert not is_open(other)
        assert is_open(one)
        assert has_leases(path)
    assert not is_open(connection)
    assert not has_leases(path)
    with shared_reader(path, opener):
        assert len(opener.opened) == 2


@pytest.fixture
def nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No warehouse of another test is open: what Ctrl-C left open there is closed by who asks for that file next."""
    monkeypatch.setattr(leases, "_INSTANCES", {})


@pytest.mark.usefixtures("nothing_else")
def test_a_link_and_its_file_are_one(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.duckdb"
    link.symlink_to(path)
    opener = Opener()
    with shared_reader(path, opener), shared_reader(link, opener):
        assert len(opener.opened) == 1
        assert has_leases(link)
        assert not has_other_leases(link)


@pytest.mark.usefixtures("nothing_else")
def test_another_file_is_another_lease(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    assert not has_other_leases(other)
    with shared_reader(path, Opener()), sole_writer(other):
        assert has_other_leases(other)
        assert has_other_leases(path)
    assert not has_other_leases(other)


def test_an_opening_that_fails_leaves_no_lease(path: Path) -> None:
    def fail() -> tuple[duckdb.DuckDBPyConnection, str]:
        raise duckdb.IOException("no such file")

    with pytest.raises(duckdb.IOException, match="no such file"), shared_reader(path, fail):
        pass
    assert not has_leases(path)
    with sole_writer(path):
        pass


@pytest.mark.parametrize("take", [lambda path: shared_reader(path, Opener()), sole_writer])
def test_a_lease_ends_however_its_holder_leaves(path: Path, take: Callable[[Path], object]) -> None:
    with pytest.raises(KeyboardInterrupt), take(path):  # type: ignore[attr-defined]
        raise KeyboardInterrupt
    assert not has_leases(path)


def test_a_writer_is_alone_and_is_not_starved(path: Path) -> None:
    """It waits for the readers that are there; those that come later wait for it."""
    told: list[str] = []
    reading, go = threading.Event(), threading.Event()

    def read(name: str) -> None:
        with shared_reader(path, Opener()):
            told.append(f"{name} in")
            if name == "first":
                reading.set()
                go.wait(LONG_SECONDS)
            told.append(f"{name} out")

    def write() -> None:
        with sole_writer(path):
            told.append("writer in")
            assert has_leases(path)
            time.sleep(0.05)
            told.append("writer out")

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(read, "first")
        assert reading.wait(LONG_SECONDS)
        writer = pool.submit(write)
        time.sleep(0.1)  # until it waits
        second = pool.submit(read, "second")
        time.sleep(0.1)
        assert told == ["first in"]
        go.set()
        for one in (first, writer, second):
            one.result(LONG_SECONDS)
    assert told == ["first in", "first out", "writer in", "writer out", "second in", "second out"]


def n_open_files(path: Path) -> int:
    """How often this process has the file open."""
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))  # noqa: PTH208  (entries that vanish)
    return sum(link.exists() and link.resolve() == path for link in links)


def test_a_file_that_is_read_beside_duckdb_is_closed_after_the_last_lease(path: Path) -> None:
    with shared_reader(path, Opener()):
        with read_beside(path) as file:
            assert file.read() == b"content"
        assert n_open_files(path) == 1
    assert file.closed
    assert n_open_files(path) == 0


def test_without_a_lease_it_is_closed_at_once(path: Path, tmp_path: Path) -> None:
    with read_beside(path) as file:
        pass
    assert file.closed
    with pytest.raises(FileNotFoundError), read_beside(tmp_path / "none"):
        pass
    with sole_writer(path), read_beside(path) as file:
        pass
    assert file.closed


def test_cursors_of_many_threads_answer_side_by_side(path: Path) -> None:
    opener = Opener()

    def ask(number: int) -> int:
        with shared_reader(path, opener) as (cursor, _):
            return int(cursor.execute("select n * ? from numbers", [number]).fetchall()[0][0])

    with shared_reader(path, opener), ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(40))) == [7 * number for number in range(40)]
    assert len(opener.opened) == 1


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + LONG_SECONDS
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    assert holds()


def test_a_connection_lingers_only_within_its_block(path: Path) -> None:
    opener = Opener()
    with lingering(path):
        for _ in range(3):
            with shared_reader(path, opener) as (cursor, _):
                pass
            assert not is_open(cursor)
        (connection,) = opener.opened
        # DuckDB has the file open, and its lock would be gone if somebody closed the file.
        assert has_leases(path)
        with read_beside(path) as file:
            pass
        closed = [file.closed]
    assert not is_open(connection)
    assert [*closed, file.closed] == [False, True]
    assert not has_leases(path)
    # Nobody is left to close anything, whom the end of Python would cut off.
    assert all(one.finished.is_set() for one in threading.enumerate() if isinstance(one, threading.Timer))


def test_a_connection_that_lingers_is_closed_when_nobody_comes(path: Path) -> None:
    opener = Opener()
    with lingering(path):
        with shared_reader(path, opener):
            pass
        wait_until(lambda: not has_leases(path))
        assert not is_open(opener.opened[0])
        with shared_reader(path, opener):
            time.sleep(leases._LINGERS_SECONDS * 1.5)
            assert is_open(opener.opened[1])


def test_other_processes_are_let_in_however_often_it_is_leased(path: Path) -> None:
    opener = Opener()
    until = time.monotonic() + LONG_SECONDS
    with lingering(path):
        while len(opener.opened) < 2 and time.monotonic() < until:
            with shared_reader(path, opener):
                time.sleep(0.01)
    assert len(opener.opened) == 2


def test_a_writer_closes_what_lingers(path: Path) -> None:
    opener = Opener()
    with lingering(path):
        with shared_reader(path, opener):
            pass
        with sole_writer(path):
            assert not is_open(opener.opened[0])
        with shared_reader(path, opener), lingering(path):
            pass
        with shared_reader(path, opener):
            assert len(opener.opened) == 2


def test_what_lingers_is_used_again_while_it_is_of_the_same_file(path: Path) -> None:
    opener = Opener()
    with lingering(path):
        for wanted, given in (("none", "opened 1"), ("opened 1", "opened 1"), ("none", "opened 2")):
            with shared_reader(path, opener, partial(eq, wanted)) as (_, found):
                assert found == given
        with shared_reader(path, opener), shared_reader(path, opener, partial(eq, "none")) as (_, found):
            # Others read it now.
            assert found == "opened 2"


def test_without_memory_for_a_thread_nothing_lingers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    opener = Opener()
    monkeypatch.setattr(threading.Timer, "start", refuse)
    with lingering(path):
        with shared_reader(path, opener):
            pass
        assert not has_leases(path)


def test_a_child_inherits_no_open_file(path: Path) -> None:
    opener = Opener()
    with lingering(path):
        with shared_reader(path, opener):
            pass
        leases._close_idle()
        assert not has_leases(path)
        assert not is_open(opener.opened[0])
        with shared_reader(path, opener):
            leases._close_idle()
            assert is_open(opener.opened[1])


def test_a_lost_closer_leaves_nothing_open(path: Path) -> None:
    """Ctrl-C between the steps of closing: whoever reads next finds no thread that was told to end."""
    opener = Opener()
    with lingering(path):
        with shared_reader(path, opener):
            pass
        leases._instance(path).close()
        with shared_reader(path, opener):
            pass
        wait_until(lambda: not has_leases(path))
