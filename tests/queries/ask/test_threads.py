"""Questions asked aside: while others are asked, each with a connection of its own, and with nothing left open."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial

import duckdb
import pytest

from neurothek.catalog.store.connections import keyboard_interrupts
from neurothek.queries.neuron.page_rows import Aside

ENDLESS = "select count(*) from range(10000000000) a where hash(a) = 1"


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        made.execute("create table numbers as from range(1000) as numbers (number)")
        yield made


def above(connection: duckdb.DuckDBPyConnection, least: int) -> int:
    (row,) = connection.execute("select count(*) from numbers where number >= $1", [least]).fetchall()
    return int(row[0])


def endless(connection: duckdb.DuckDBPyConnection) -> int:
    return int(connection.execute(ENDLESS).fetchall()[0][0])


def test_each_question_gets_its_own_answer(connection: duckdb.DuckDBPyConnection) -> None:
    limits = list(range(0, 1000, 50))
    with Aside(connection) as aside:
        asked = [aside.ask(partial(above, least=limit)) for limit in limits]
        assert [one.result() for one in asked] == [1000 - one for one in limits]


def test_the_caller_asks_at_the_same_time(connection: duckdb.DuckDBPyConnection) -> None:
    meeting = threading.Barrier(3)

    def meet(cursor: duckdb.DuckDBPyConnection) -> int:
        # Broken after these seconds if one question waits for another.
        meeting.wait(timeout=20)
        return above(cursor, 500)

    with Aside(connection) as aside:
        asked = [aside.ask(meet), aside.ask(meet)]
        assert meet(connection) == 500
        assert [one.result() for one in asked] == [500, 500]


def test_each_asks_with_a_connection_of_its_own_that_is_closed(connection: duckdb.DuckDBPyConnection) -> None:
    with Aside(connection) as aside:
        asked = [aside.ask(lambda cursor: cursor) for _ in range(3)]
    cursors = [one.result() for one in asked]
    assert len({id(cursor) for cursor in (connection, *cursors)}) == 4
    for cursor in cursors:
        with pytest.raises(duckdb.ConnectionException):
            cursor.execute("select 1")
    assert above(connection, 0) == 1000


def test_answers_nobody_waited_for_are_waited_for_at_the_end(connection: duckdb.DuckDBPyConnection) -> None:
    answered = []
    with Aside(connection) as aside:
        for _ in range(5):
            aside.ask(lambda cursor: answered.append(above(cursor, 0)))
    assert answered == [1000] * 5


def test_an_error_ends_the_other_questions_and_is_told(connection: duckdb.DuckDBPyConnection) -> None:
    def fail(cursor: duckdb.DuckDBPyConnection) -> int:
        return int(cursor.execute("select nothing from nowhere").fetchall()[0][0])

    started = time.monotonic()
    with pytest.raises(duckdb.CatalogException, match="nowhere"), Aside(connection) as aside:
        failed, others = aside.ask(fail), [aside.ask(endless) for _ in range(6)]
        failed.result()
    assert time.monotonic() - started < 20
    assert all(other.cancelled() or isinstance(other.exception(), duckdb.InterruptException) for other in others)
    assert above(connection, 0) == 1000


@pytest.mark.usefixtures("at_a_terminal")
@pytest.mark.parametrize("waits_for_itself", [True, False])
def test_ctrl_c_ends_questions_that_take_long(connection: duckdb.DuckDBPyConnection, waits_for_itself: bool) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), keyboard_interrupts(connection), Aside(connection) as aside:
        asked = [aside.ask(endless) for _ in range(6)]
        endless(connection) if waits_for_itself else asked[0].result()
    assert time.monotonic() - started < 20
    assert above(connection, 0) == 1000


@pytest.mark.usefixtures("at_a_terminal")
def test_ctrl_c_ends_questions_whose_clean_up_it_skips(connection: duckdb.DuckDBPyConnection) -> None:
    # It may strike as __exit__ begins: then nobody leaves the context.
    aside = Aside(connection).__enter__()
    asked = [aside.ask(endless) for _ in range(6)]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        time.sleep(20)
    until = time.monotonic() + 20
    while not all(one.done() for one in asked) and time.monotonic() < until:
        time.sleep(0.01)
    assert all(one.cancelled() or isinstance(one.exception(), duckdb.InterruptException) for one in asked)
    assert above(connection, 0) == 1000
