"""Questions asked side by side: their answers in order, at the same time, and with nothing left open."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial

import duckdb
import pytest

from catalog.interrupts import keyboard_interrupts
from queries.together import together


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("create table numbers as from range(1000) as numbers (number)")
        yield made


def above(connection: duckdb.DuckDBPyConnection, least: int) -> int:
    (row,) = connection.execute("select count(*) from numbers where number >= $1", [least]).fetchall()
    return int(row[0])


def test_answers_come_in_the_order_of_the_questions(connection: duckdb.DuckDBPyConnection) -> None:
    limits = list(range(0, 1000, 50))
    assert together(connection, [partial(above, least=limit) for limit in limits]) == [1000 - one for one in limits]
    assert together(connection, [partial(above, least=990)]) == [10]
    assert together(connection, list[partial[int]]()) == []


def test_questions_are_asked_at_the_same_time(connection: duckdb.DuckDBPyConnection) -> None:
    meeting = threading.Barrier(2)

    def meet(cursor: duckdb.DuckDBPyConnection) -> int:
        # Broken after these seconds if the other question waits for this one.
        meeting.wait(timeout=20)
        return above(cursor, 500)

    assert together(connection, [meet, meet]) == [500, 500]


def test_each_asks_with_a_connection_of_its_own_that_is_closed(connection: duckdb.DuckDBPyConnection) -> None:
    cursors = together(connection, [lambda cursor: cursor] * 3)
    assert len({id(cursor) for cursor in (connection, *cursors)}) == 4
    for cursor in cursors:
        with pytest.raises(duckdb.ConnectionException):
            cursor.execute("select 1")
    assert above(connection, 0) == 1000


def test_a_question_that_fails_is_told_when_the_others_are_through(connection: duckdb.DuckDBPyConnection) -> None:
    answered = []

    def fail(cursor: duckdb.DuckDBPyConnection) -> int:
        return int(cursor.execute("select nothing from nowhere").fetchall()[0][0])

    def answer(cursor: duckdb.DuckDBPyConnection) -> int:
        answered.append(above(cursor, 0))
        return answered[-1]

    with pytest.raises(duckdb.CatalogException, match="nowhere"):
        together(connection, [fail, answer])
    assert answered == [1000]
    assert above(connection, 0) == 1000


@pytest.mark.usefixtures("at_a_terminal")
def test_ctrl_c_ends_questions_that_take_long(connection: duckdb.DuckDBPyConnection) -> None:
    def ask(cursor: duckdb.DuckDBPyConnection) -> int:
        return int(cursor.execute("select count(*) from range(10000000000) a where hash(a) = 1").fetchall()[0][0])

    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), keyboard_interrupts(connection):
        together(connection, [ask] * 6)
    assert time.monotonic() - started < 20
    assert above(connection, 0) == 1000
