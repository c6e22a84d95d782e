"""The gate: readers pass together, a publisher passes alone, and nobody waits past a deadline or in silence."""

import os
import threading
import time
from pathlib import Path

import pytest

from catalog.store.gate import Gate, GateTimeout, GateUnwritable

SOON_SECONDS = 0.1
LONG_SECONDS = 20.0
"""Far more than a lock takes: who waits so long waits for ever."""
ROUNDING_SECONDS = 0.001
"""SQLite waits whole milliseconds, and rounds down."""


def soon() -> float:
    return time.monotonic() + SOON_SECONDS


def later() -> float:
    return time.monotonic() + LONG_SECONDS


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "w.duckdb")


def test_a_waiting_publisher_keeps_later_readers_out(gate: Gate) -> None:
    with gate.exclusive(later()), pytest.raises(GateTimeout), gate.shared(soon()):
        pass
    with gate.shared(later()), gate.shared(later()):
        pass


def test_publishers_and_readers_keep_each_other_out_until_the_deadline(gate: Gate, tmp_path: Path) -> None:
    with gate.exclusive(later()):
        pass  # makes the lock file
    for holder in (gate.exclusive, gate.shared):
        with holder(later()):
            started = time.monotonic()
            with pytest.raises(GateTimeout) as refused, gate.exclusive(soon()):
                pass
            assert SOON_SECONDS - ROUNDING_SECONDS <= time.monotonic() - started < LONG_SECONDS
    path = tmp_path / "w.duckdb"
    assert str(refused.value) == (
        f"{path} is still in use by another neurothek process; repeat the command when that one is done"
    )


def test_a_deadline_that_has_passed_still_takes_an_open_gate(gate: Gate) -> None:
    with gate.exclusive(time.monotonic() - 1):
        pass
    with gate.shared(time.monotonic() - 1):
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
    with pytest.raises(GateUnwritable) as refused, Gate(path).exclusive(soon()):
        pass
    assert str(refused.value).startswith(f"{path} could not be written (")
    assert str(refused.value).endswith("); choose another place with --warehouse")


def test_a_lock_that_is_a_folder_is_told(gate: Gate, tmp_path: Path) -> None:
    (tmp_path / "w.duckdb.lock").mkdir()
    with pytest.raises(GateUnwritable, match="could not be written"), gate.exclusive(soon()):
        pass


def test_a_lock_that_cannot_be_written_keeps_no_reader_out(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is read-only: nobody publishes there."""
    with gate.exclusive(later()):
        monkeypatch.setattr(os, "access", lambda *_: False)
        with gate.shared(soon()):
            pass
