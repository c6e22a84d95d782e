"""The door: what a reader may not do, who waits for whom, and what each bad file is told."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import neurothek.catalog.store.warehouse
from neurothek.catalog.problems import Busy, Conflict, Damaged, NeurothekError, Unavailable, Unreadable
from neurothek.catalog.store.damage import log_of
from neurothek.catalog.store.warehouse import Gate, Wait, Warehouse
from neurothek.catalog.tables import versions
from tests.support import publications as made


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made_here = Warehouse(tmp_path / "w.duckdb", wait_seconds=20)
    made.publish_projections(made_here)
    return made_here


@pytest.mark.parametrize(
    "statement",
    [
        "create table store.x (a integer)",
        "insert into store.pins values (0, 0)",
        "select * from read_text('/etc/hostname')",
        "select * from glob('/*')",
        "select * from '/etc/hostname'",
        "copy (select 1) to '{folder}/out.csv'",
        "attach '{folder}/other.duckdb'",
        "set enable_external_access = true",
        "set threads = 1",
        "reset memory_limit",
        "install httpfs",
        "load httpfs",
        "export database '{folder}/export'",
    ],
)
def test_a_reader_can_only_read_the_warehouse(warehouse: Warehouse, statement: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with warehouse.reader() as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(folder=tmp_path))
    assert sorted(tmp_path.iterdir()) == before


def test_the_file_opens_with_duckdb_1_5(warehouse: Warehouse) -> None:
    with duckdb.connect(str(warehouse.path), read_only=True) as connection:
        rows = connection.execute("select tags from duckdb_databases() where path is not null").fetchall()
    assert rows[0][0]["storage_version"].startswith("v1.5.0")


def test_readers_share_one_process_and_leave_nothing_open(warehouse: Warehouse) -> None:
    with warehouse.reader() as first, warehouse.reader() as second:
        assert first.execute("select count(*) from store.postings").fetchall() == [(96,)]
        assert second.execute("select count(*) from store.postings").fetchall() == [(96,)]
    with duckdb.connect(str(warehouse.path)) as foreign:
        assert foreign.execute("select count(*) from store.models").fetchall() == [(1,)]


@pytest.mark.parametrize("read_only", [True, False])
def test_a_connection_of_somebody_else_in_this_process_is_told(warehouse: Warehouse, read_only: bool) -> None:
    with duckdb.connect(str(warehouse.path), read_only=read_only) as foreign:
        for lease in (warehouse.reader, warehouse.writer):
            with (
                pytest.raises(Conflict, match=r"is open in this process through duckdb\.connect; close") as refused,
                lease(),
            ):
                pytest.fail("the file was opened")
            assert refused.value.name == warehouse.path
        assert foreign.execute("select count(*) from store.models").fetchall() == [(1,)]
    with warehouse.reader() as connection:
        assert connection.execute("select count(*) from store.models").fetchall() == [(1,)]


def test_threads_read_and_write_in_turns(warehouse: Warehouse) -> None:
    problems: list[BaseException] = []
    counts: set[int] = set()

    def read() -> None:
        try:
            for _ in range(20):
                with warehouse.reader() as connection:
                    counts.update(row[0] for row in connection.execute("select count(*) from store.pins").fetchall())
        except BaseException as error:  # noqa: BLE001 - reported below, in the main thread
            problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        with warehouse.transaction() as connection:
            connection.execute("insert into store.pins values (0, 0), (0, 1)")
    for thread in threads:
        thread.join()
    assert problems == []
    assert counts <= {0, 2, 4, 6, 8, 10}, "a transaction is seen whole or not at all"


def test_a_failed_transaction_changes_nothing(warehouse: Warehouse) -> None:
    with pytest.raises(ZeroDivisionError), warehouse.transaction() as connection:
        connection.execute("delete from store.models")
        raise ZeroDivisionError
    with warehouse.reader() as connection:
        assert connection.execute("select count(*) from store.models").fetchall() == [(1,)]


def test_a_missing_warehouse_is_not_created_by_reading(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="neurothek demo"), Warehouse(tmp_path / "none.duckdb").reader():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table mine (a integer)")
    for lease in (Warehouse(path).reader, Warehouse(path).writer):
        with pytest.raises(Unreadable, match="something else"), lease():
            pass


def test_a_newer_schema_is_refused(warehouse: Warehouse) -> None:
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute(f"insert into store.schema_versions values ({versions.VERSION + 1}, timestamp '2030-01-01')")
    for lease in (warehouse.reader, warehouse.writer):
        with pytest.raises(Unreadable, match="it was written by a newer neurothek"), lease():
            pass


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NeurothekError, match="could not be written"), Warehouse(tmp_path / "a" / "w.duckdb").writer():
        pass


def test_a_disk_that_cannot_be_written_can_be_read(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = warehouse.path.with_name("w.duckdb.lock")
    lock.unlink()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with warehouse.reader() as connection:
        assert connection.execute("select count(*) from store.models").fetchall() == [(1,)]
    assert not lock.exists(), "where nobody can publish there is no gate"


def test_a_full_disk_is_said_and_loses_nothing(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise duckdb.IOException("IO Error: Could not write file: No space left on device")

    with pytest.raises(Unreadable, match="No space left on device"), warehouse.transaction() as connection:
        connection.execute("delete from store.models")
        refuse()
    with warehouse.reader() as reader:
        assert reader.execute("select count(*) from store.models").fetchall() == [(1,)]


def test_a_foreign_holder_is_named(warehouse: Warehouse) -> None:
    impatient = Warehouse(warehouse.path, wait_seconds=0.3)
    with _foreign_writer(warehouse.path) as process_id:
        for lease in (impatient.reader, impatient.writer):
            held = rf"w\.duckdb was still in use by the process {process_id} after 0 s; close it there"
            with pytest.raises(Busy, match=held) as refused, lease():
                pass
            assert refused.value.path == warehouse.path


def test_to_settle_waits_for_no_holder_but_tells_of_a_publisher(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neurothek.catalog.store.warehouse._UPGRADE_SECONDS", 0.1)
    log_of(warehouse.path).touch()
    gate = Gate(warehouse.path)
    with (
        gate.exclusive(Wait(warehouse.path, 1.0)),
        pytest.raises(Busy, match="another neurothek process") as told,
    ):
        warehouse.settle()
    assert told.value.path != warehouse.path
    log_of(warehouse.path).unlink(missing_ok=True)
    with _foreign_writer(warehouse.path):
        log_of(warehouse.path).touch()
        warehouse.settle()


@contextmanager
def _foreign_writer(path: Path) -> Iterator[int]:
    code = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


class OneView:
    """Installs a view of this release with the given number in it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def install(self, connection: duckdb.DuckDBPyConnection, *, is_new: bool = False) -> None:
        connection.execute(f"create or replace view main.models as select {self.number} as number")

    def define(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(f"create or replace temp view models as select {self.number} as number")

    def sources(self) -> str:
        return str(self.number)


def test_a_reader_has_the_views_of_this_release_even_if_the_file_is_read_only(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(number: int) -> list[tuple[int]]:
        with Warehouse(warehouse.path, views=OneView(number)).current_reader() as connection:
            rows: list[tuple[int]] = connection.execute("select number from models").fetchall()
        return rows

    def kept() -> list[tuple[int]]:
        with duckdb.connect(str(warehouse.path), read_only=True) as connection:
            return connection.execute("select number from models").fetchall()

    assert (answer(41), kept()) == ([(41,)], [(41,)])
    assert (answer(42), kept()) == ([(42,)], [(42,)])
    monkeypatch.setattr(Warehouse, "_is_writable", lambda _: False)
    assert (answer(43), kept()) == ([(43,)], [(42,)])


def test_views_of_this_release_answer_while_another_program_reads_the_file(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neurothek.catalog.store.warehouse, "_UPGRADE_SECONDS", 0.2)
    with Warehouse(warehouse.path, views=OneView(41)).current_reader():
        pass
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); print('held', flush=True); input()"
    command = [sys.executable, "-c", hold, str(warehouse.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as foreign:
        assert foreign.stdout is not None
        assert foreign.stdout.readline() == "held\n"
        with Warehouse(warehouse.path, views=OneView(42)).current_reader() as connection:
            assert connection.execute("select number from models").fetchall() == [(42,)]
        foreign.communicate("\n")
    with duckdb.connect(str(warehouse.path), read_only=True) as unchanged:
        assert unchanged.execute("select number from models").fetchall() == [(41,)]


def test_a_damaged_file_is_said_at_once_even_where_lock_is_part_of_its_path(warehouse: Warehouse) -> None:
    folder = warehouse.path.parent / "blocks"
    folder.mkdir()
    whole = warehouse.path.read_bytes()
    damages = {
        "truncated": whole[:20_000],
        "flipped": whole[:4096] + bytes(byte ^ 0xFF for byte in whole[4096:12_352]) + whole[12_352:],
    }
    for name, content in damages.items():
        path = folder / f"{name}.duckdb"
        path.write_bytes(content)
        started = time.monotonic()
        with pytest.raises(Damaged, match="damaged"), Warehouse(path).reader():
            pass
        assert time.monotonic() - started < 10


def test_a_path_is_a_file_whatever_duckdb_makes_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.publish_job(Warehouse(Path(":memory:")), "projections", made.weights_frames())
    assert (tmp_path / ":memory:").stat().st_size > 0
    with Warehouse(Path(":memory:")).reader() as connection:
        assert connection.execute("select count(*) from store.projections").fetchall() == [(12,)]


def test_the_log_of_a_killed_writer_is_folded_into_the_file(warehouse: Warehouse) -> None:
    commit = """
import os, sys, duckdb
with duckdb.connect(sys.argv[1]) as connection:
    connection.execute("pragma disable_checkpoint_on_shutdown")
    connection.execute("update store.models set family = 'folded'")
    os._exit(0)
"""
    subprocess.run([sys.executable, "-c", commit, str(warehouse.path)], check=True)
    log = warehouse.path.with_name("w.duckdb.wal")
    assert log.exists()
    warehouse.settle()
    assert not log.exists()
    with warehouse.reader() as connection:
        assert connection.execute("select family from store.models").fetchall() == [("folded",)]
    warehouse.settle()


def test_a_reader_that_lingers_is_of_the_file_that_is_there_and_as_bounded_as_asked(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    connect = Warehouse._connect

    def count(self: Warehouse, wait: Wait, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        opened.append(read_only)
        return connect(self, wait, read_only=read_only)

    def models() -> list[str]:
        with warehouse.current_reader() as connection:
            return [name for (name,) in connection.execute("select name from store.models").fetchall()]

    other = Warehouse(tmp_path / "other.duckdb")
    with other.writer():
        pass
    bounded = replace(warehouse, reader_settings=(("threads", "1"),))
    monkeypatch.setattr(Warehouse, "_connect", count)
    with warehouse.lingering():
        names = models()
        assert names
        assert (models(), opened) == (names, [True])
        with bounded.reader() as connection:
            assert connection.execute("select current_setting('threads')").fetchall() == [(1,)]
        assert opened == [True, True]
        other.path.replace(warehouse.path)
        assert (models(), opened) == ([], [True, True, True])
    with duckdb.connect(str(warehouse.path)):
        pass


@pytest.mark.parametrize("lease", [Warehouse.reader, Warehouse.writer, Warehouse.current_reader])
def test_what_another_program_wrote_while_a_lease_waited_is_seen(
    warehouse: Warehouse, lease: Callable[[Warehouse], AbstractContextManager[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with warehouse.reader():
        pass
    connect = Warehouse._connect

    def wait_for_other(self: Warehouse, wait: Wait, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        with duckdb.connect(str(warehouse.path)) as other:
            other.execute("create macro main.lower(a) as 'hostile'")
        return connect(self, wait, read_only=read_only)

    monkeypatch.setattr(Warehouse, "_connect", wait_for_other)
    with pytest.raises(Unreadable, match="contains the macro"), lease(warehouse):
        pass
    monkeypatch.setattr(Warehouse, "_connect", connect)
    with pytest.raises(Unreadable, match="contains the macro"), lease(warehouse):
        pass


def test_what_a_caller_made_of_a_file_is_seen(warehouse: Warehouse) -> None:
    with warehouse.writer() as connection:
        connection.execute("create macro main.lower(a) as 'hostile'")
    with pytest.raises(Unreadable, match="contains the macro"), warehouse.reader():
        pass
