"""Ctrl-C while DuckDB works: it ends the query within a moment, and the command with the code of an interrupt."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import LimitExceeded
from neurothek.catalog.store import connections
from neurothek.catalog.store.connections import keyboard_interrupts
from neurothek.catalog.store.warehouse import Warehouse
from tests.support.warehouse import create

ENDLESS = "with recursive t as (select 1 as x union all select x + 1 from t) select max(x) from t"

IN_PROCESS = f"""
import sys
from pathlib import Path
from neurothek.catalog.store.warehouse import Warehouse
with Warehouse(Path(sys.argv[1])).reader() as connection:
    print("asking", flush=True)
    try:
        connection.execute({ENDLESS!r})
    except KeyboardInterrupt:
        print("interrupted inside", flush=True)
        raise
"""

IN_A_COMMAND = f"""
import sys, click, neurothek
@click.command()
@click.pass_context
def endless(ctx):
    with ctx.obj.reader() as connection:
        print("asking", flush=True)
        connection.execute({ENDLESS!r}).fetchall()
neurothek.main.add_command(endless)
neurothek.main(["endless"])
"""

IN_A_CHILD = f"""
import neurothek
print("asking", flush=True)
neurothek.main(["sql", "--seconds", "60", {ENDLESS!r}])
"""

SOON_SECONDS = 5.0
"""Far more than an interrupt takes (about 0.1 s), far less than the query."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interrupts") / "one.duckdb"
    create(path)
    return path


def interrupted(code: str, path: Path, *, after: float) -> tuple[int, str, str, float]:
    """Exit code, stdout, stderr and seconds from the signal to the end of a process that is interrupted."""
    environment = {
        **os.environ,
        "NEUROTHEK_WAREHOUSE": str(path),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout is not None
        asking = process.stdout.readline()
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        try:
            out, err = process.communicate(timeout=20)
        finally:
            # One that does not hear goes on without end.
            process.kill()
    return process.returncode, asking + out, err, time.perf_counter() - start


@pytest.mark.usefixtures("at_a_terminal")
def test_a_reader_raises_what_python_raises(path: Path) -> None:
    """DuckDB's own error becomes the KeyboardInterrupt that caused it, and the lease is given back."""
    code, out, err, seconds = interrupted(IN_PROCESS, path, after=0.3)
    assert out.splitlines() in (["asking"], ["asking", "interrupted inside"])
    assert "KeyboardInterrupt" in err
    assert code in (-signal.SIGINT, 1, 130)
    assert seconds < SOON_SECONDS
    with Warehouse(path).writer() as connection:
        connection.execute("select 1")


@pytest.mark.usefixtures("at_a_terminal")
@pytest.mark.parametrize(("code", "after"), [(IN_A_COMMAND, 0.3), (IN_A_CHILD, 1.2)], ids=["command", "sql"])
def test_a_command_ends_with_130_and_a_sentence(path: Path, code: str, after: float) -> None:
    exit_code, _, err, seconds = interrupted(code, path, after=after)
    assert exit_code == 130
    told = [line for line in err.splitlines() if line and not re.search("nanobind|leaked|skipped", line)]
    assert told == ["interrupted; finished work is kept: repeat the command to continue"]
    assert seconds < SOON_SECONDS


@pytest.mark.usefixtures("at_a_terminal")
def test_a_thread_that_cannot_be_started_is_told_as_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(connections, "_ear", connections._Ear)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    connection = duckdb.connect()
    with pytest.raises(LimitExceeded, match="not enough memory"), keyboard_interrupts(connection):
        pass
    connection.close()


def test_other_errors_stay_what_they_are() -> None:
    with duckdb.connect() as connection:
        with pytest.raises(RuntimeError, match="another"), keyboard_interrupts(connection):
            raise RuntimeError("another")
        with pytest.raises(duckdb.ParserException), keyboard_interrupts(connection):
            connection.execute("selec 1")
        with pytest.raises(KeyboardInterrupt), keyboard_interrupts(connection):
            raise RuntimeError("Query interrupted")


def test_nothing_is_left_behind() -> None:
    threads, wakeup = threading.active_count(), signal.set_wakeup_fd(-1)
    with duckdb.connect() as connection, keyboard_interrupts(connection), keyboard_interrupts(connection):
        assert connection.execute("select 1").fetchall() == [(1,)]
    assert threading.active_count() == threads
    assert signal.set_wakeup_fd(wakeup) == -1


def test_a_thread_of_its_own_asks_as_well(path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(_one, path).result() == [(1,)]


def _one(path: Path) -> list[tuple[int, ...]]:
    with Warehouse(path).reader() as connection:
        rows: list[tuple[int, ...]] = connection.execute("select 1").fetchall()
    return rows


AT_ANY_MOMENT = """
import os, random, signal, sys, threading, time
from pathlib import Path
from neurothek.catalog.store.leases import _INSTANCES
from neurothek.catalog.store.warehouse import Warehouse

warehouse, drawn = Warehouse(Path(sys.argv[1])), random.Random(int(sys.argv[2]))

def ask():
    with warehouse.reader() as connection, connection.cursor() as cursor:
        return cursor.execute("select count(*) from store.models").fetchall()

# In the background a shell has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
answer = ask()
started = time.monotonic()
for _ in range(5):
    ask()
longest = 1.2 * (time.monotonic() - started) / 5
told = {"answered": 0, "interrupted": 0}
for _ in range(150):
    timer = threading.Timer(drawn.random() * longest, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        ask()
        told["answered"] += 1
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        told["interrupted"] += 1
    timer.join()
assert ask() == answer
(instance,) = _INSTANCES.values()
assert not any((instance.readers, instance.writers, instance.waiting)) and instance.connection is None
with warehouse.writer() as connection:
    connection.execute("create table store.more as select 1")
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
print(told)
"""


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_ctrl_c_at_any_moment_leaves_nothing_open(tmp_path: Path, seed: int) -> None:
    create(tmp_path / "one.duckdb")
    command = [sys.executable, "-c", AT_ANY_MOMENT, str(tmp_path / "one.duckdb"), str(seed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
