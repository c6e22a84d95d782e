"""Questions asked aside: in threads, while the caller asks others; one that reads a few rows keeps one core busy."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from contextvars import copy_context
from types import TracebackType
from typing import Any, Self, TypeVar

import duckdb

from neurothek.catalog.store.interrupts import close, interrupted_by_keyboard, undisturbed

T = TypeVar("T")

_MOST_THREADS = 3
"""Beside the caller's own; more wait for the same disk and for Python."""

_RETRY_SECONDS = 0.05

_INTERRUPTING_SECONDS = 5.0
"""Far more than it takes."""


class Aside:
    """Asks questions of a connection while its owner asks others: a context, at whose end none is left open.

    A question is given a connection of its own to ask with. Leaving the context waits for those that were asked; an
    error that leaves it, Ctrl-C as well, ends them first.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._threads = ThreadPoolExecutor(_MOST_THREADS)
        self._asked: list[tuple[Future[Any], duckdb.DuckDBPyConnection]] = []
        self._hearing = ExitStack()

    def __enter__(self) -> Self:
        """Nothing was asked yet."""
        # Ctrl-C may strike as __exit__ begins, and then nothing of it runs: another thread ends the questions.
        self._hearing.enter_context(interrupted_by_keyboard(self))
        return self

    def interrupt(self) -> None:
        """End every question, those that wait for a thread too; from any thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + _INTERRUPTING_SECONDS
        while (running := self._running()) and time.monotonic() < until:
            # A query that is only about to begin is not interrupted: it is told again.
            for _, cursor in running:
                cursor.interrupt()
            wait([asked for asked, _ in running], timeout=_RETRY_SECONDS)

    def ask(self, question: Callable[[duckdb.DuckDBPyConnection], T]) -> "Future[T]":
        """Ask in a thread; those asked first begin first. The answer's `result()` raises what the question raises."""
        # A connection may not be used by two threads at once, and its cursors may: they are made here.
        cursor = self.connection.cursor()
        asked = self._threads.submit(copy_context().run, question, cursor)
        self._asked.append((asked, cursor))
        return asked

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for every question, and close their connections."""
        try:
            if kind is None:
                wait([asked for asked, _ in self._asked])
        finally:
            with undisturbed():
                self._close()

    def _close(self) -> None:
        """End what is still asked: nobody waits for answers once there is an error, and threads hear of no signal."""
        self._hearing.close()
        self.interrupt()
        for _, cursor in self._asked:
            close(cursor)

    def _running(self) -> list[tuple[Future[Any], duckdb.DuckDBPyConnection]]:
        return [(asked, cursor) for asked, cursor in list(self._asked) if not asked.done()]
