"""Processes that wait for a question: taken by the next one, replaced by another, never more than one, none left."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from neurothek.catalog.problems import Failed, Refused
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.sql import processes
from neurothek.queries.sql.run import ask_people


def children() -> list[int]:
    return sorted(child.pid for child in psutil.Process().children() if "neurothek.queries.sql.child" in command(child))


def command(child: psutil.Process) -> list[str]:
    """Its command line, which a process that has only just begun does not have yet."""
    until = time.monotonic() + 1
    while not (found := child.cmdline()) and time.monotonic() < until:
        time.sleep(0.001)
    return found


@pytest.fixture(autouse=True)
def _none_is_left() -> Iterator[None]:
    yield
    processes.dismiss()
    assert children() == []


def test_one_waits_and_answers_the_next_question(full_path: Path) -> None:
    processes.start_ahead()
    processes.start_ahead()
    (waiting,) = children()
    assert ask_people(Warehouse(full_path), "select 1 as one").frame.rows() == [(1,)]
    (another,) = children()
    assert another != waiting


def test_it_waits_on_where_a_question_is_refused(full_path: Path) -> None:
    processes.start_ahead()
    (waiting,) = children()
    with pytest.raises(Refused):
        ask_people(Warehouse(full_path), "delete from store.models")
    assert children() == [waiting]


def test_it_is_replaced_after_a_question_that_fails(full_path: Path) -> None:
    processes.start_ahead()
    (waiting,) = children()
    with pytest.raises(Failed):
        ask_people(Warehouse(full_path), "select 'x'::integer")
    (another,) = children()
    assert another != waiting


def test_one_that_ended_is_not_asked(full_path: Path) -> None:
    processes.start_ahead()
    (waiting,) = children()
    psutil.Process(waiting).kill()
    processes._waiting[0].wait()
    assert ask_people(Warehouse(full_path), "select 2 as two").frame.rows() == [(2,)]


def test_who_asks_once_leaves_none(full_path: Path) -> None:
    ask_people(Warehouse(full_path), "select 1 as one")
    assert children() == []


def test_it_ends_with_the_process_that_started_it() -> None:
    code = (
        "import os; from neurothek.queries.sql import processes;"
        "processes.start_ahead(); print(processes._waiting[0].pid, flush=True); os._exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    # Nobody tidied up: it hears of it by the end of its pipe.
    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(done.stdout)).wait(timeout=60)


def test_it_loads_nothing_that_an_answer_does_without() -> None:
    code = (
        "import io, sys; from neurothek.queries.sql.child import main;"
        " main(io.BytesIO(), io.BytesIO()); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert {"duckdb", "polars", "pyarrow"} <= loaded
    assert not loaded & {"pandas", "torch", "transformers", "streamlit", "sqlglot"}
