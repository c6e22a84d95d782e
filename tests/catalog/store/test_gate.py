"""The gate: readers pass together, a publisher passes alone, and nobody waits past a deadline or in silence."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from neurothek.catalog.problems import Busy, Unreadable
from neurothek.catalog.store import warehouse as gate_module
from neurothek.catalog.store.warehouse import Gate, Wait, Warehouse

SOON_SECONDS = 0.1
LONG_SECONDS = 20.0
"""Far more than a lock takes: who waits so long waits for ever."""
ROUNDING_SECONDS = 0.001
"""SQLite waits whole milliseconds, and rounds down."""


def soon() -> Wait:
    return Wait(Path("w.duckdb"), SOON_SECONDS)


def later() -> Wait:
    return Wait(Path("w.duckdb"), LONG_SECONDS)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "w.duckdb")


def test_a_waiting_publisher_keeps_later_readers_out(gate: Gate) -> None:
    with gate.exclusive(later()), pytest.raises(Busy, match="by another neurothek process"), gate.shared(soon()):
        pass
    with gate.shared(later()), gate.shared(later()):
        pass


def test_publishers_and_readers_keep_each_other_out_until_the_deadline(gate: Gate, tmp_path: Path) -> None:
    with gate.exclusive(later()):
        pass  # makes the lock file
    for holder in (gate.exclusive, gate.shared):
        with holder(later()):
            started = time.monotonic()
            with pytest.raises(Busy, match="by another neurothek process") as refused, gate.exclusive(soon()):
                pass
            assert SOON_SECONDS - ROUNDING_SECONDS <= time.monotonic() - started < LONG_SECONDS
    path = tmp_path / "w.duckdb"
    assert str(refused.value) == (
        f"{path} is still in use by another neurothek process; repeat the command when that one is done"
    )


def test_a_deadline_that_has_passed_still_takes_an_open_gate(gate: Gate) -> None:
    with gate.exclusive(Wait(Path(), -1)):
        pass
    with gate.shared(Wait(Path(), -1)):
        pass


def test_where_nobody_published_readers_make_no_lock(gate: Gate, tmp_path: Path) -> None:
    with gate.shared(soon()), gate.shared(soon()):
        pass
    assert list(tmp_path.iterdir()) == []
    with gate.exclusive(later()):
        pass
    assert {path.name for path in tmp_path.iterdir()} >= {"w.duckdb.lock"}
    assert not (tmp_path / "w.duckdb").exists()


@pytest.mark.parametrize("is_reader", [False, True])
def test_the_gate_opens_however_its_holder_leaves(gate: Gate, is_reader: bool) -> None:
    with gate.exclusive(later()):
        pass
    with pytest.raises(ZeroDivisionError), (gate.shared if is_reader else gate.exclusive)(later()):
        raise ZeroDivisionError
    with gate.exclusive(soon()):
        pass


def test_who_waits_passes_once_the_holder_is_done(gate: Gate) -> None:
    order: list[str] = []
    held, waits = threading.Event(), threading.Event()

    def publish() -> None:
        held.wait(LONG_SECONDS)
        waits.set()
        with gate.exclusive(later()):
            order.append("publisher")

    thread = threading.Thread(target=publish)
    thread.start()
    with gate.exclusive(later()):
        held.set()
        waits.wait(LONG_SECONDS)
        time.sleep(SOON_SECONDS)
        order.append("holder")
    thread.join(LONG_SECONDS)
    assert order == ["holder", "publisher"]


def test_a_folder_that_takes_no_lock_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none" / "w.duckdb"
    with pytest.raises(Unreadable, match="could not be written") as refused, Gate(path).exclusive(soon()):
        pass
    assert str(refused.value).startswith(f"{path} could not be written (")
    assert str(refused.value).endswith("); choose another place with --warehouse")


def test_a_lock_that_is_a_folder_is_told(gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "w.duckdb.lock").mkdir()
    with pytest.raises(Unreadable, match="could not be written"), gate.exclusive(soon()):
        pass


def test_a_lock_that_cannot_be_written_keeps_no_reader_out(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is read-only: nobody publishes there."""
    with gate.exclusive(later()):
        monkeypatch.setattr(os, "access", lambda *_: False)
        with gate.shared(soon()):
            pass


HOLD = """
import sys, time
from pathlib import Path
from neurothek.catalog.store import warehouse as gate_module
from neurothek.catalog.store.warehouse import Gate, Wait
from neurothek.catalog.store.warehouse import Warehouse
path = Path(sys.argv[2])
lease = Gate(path).exclusive(Wait(path, 20)) if sys.argv[1] == "gate" else Warehouse(path).reader()
with lease:
    print("held", flush=True)
    sys.stdin.read()
"""
"""Holds the gate, or the file itself as a reader, until its standard input is closed."""


@pytest.mark.parametrize(("held", "waits"), [("gate", "reader"), ("gate", "writer"), ("file", "writer")])
def test_who_waits_longer_says_once_for_whom(
    held: str, waits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse(tmp_path / "w.duckdb", wait_seconds=LONG_SECONDS)
    with warehouse.writer():
        pass
    monkeypatch.setattr(gate_module, "SAID_AFTER_SECONDS", SOON_SECONDS)
    command = [sys.executable, "-c", HOLD, held, str(warehouse.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        release = threading.Timer(6 * SOON_SECONDS, holder.stdin.close)
        release.start()
        with warehouse.reader() if waits == "reader" else warehouse.writer():
            pass
        release.join()
    said = capsys.readouterr().err
    # The gate's holder is known where the system lists locks, the file's to DuckDB everywhere.
    whom = f"the process {holder.pid}" if held == "file" or Path("/proc/locks").exists() else "another process"
    assert said == f"waiting for {whom}, which uses {warehouse.path}\n"


def test_a_short_wait_is_not_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As when the views of an earlier release may stay: two seconds are what such a lease waits at most."""
    path = tmp_path / "w.duckdb"
    with (
        Gate(path).exclusive(later()),
        pytest.raises(Busy, match="by another neurothek process"),
        Gate(path).exclusive(Wait(path, SOON_SECONDS)),
    ):
        pass
    assert capsys.readouterr().err == ""
