"""Questions that do not wait for each other, asked side by side: one that reads a few rows keeps one core busy."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import duckdb

T = TypeVar("T")

_MOST_THREADS = 4
"""More wait for the same disk and for Python."""


def together(
    connection: duckdb.DuckDBPyConnection, questions: Sequence[Callable[[duckdb.DuckDBPyConnection], T]]
) -> list[T]:
    """The answers, in the order of the questions.

    Args:
        connection: a reader.
        questions: each is given a connection of its own to ask with, in a thread of its own; the longest should be
            first.

    Raises:
        What the first question that fails raises.
    """
    if len(questions) < 2:
        return [question(connection) for question in questions]
    # A connection may not be used by two threads at once, and its cursors may: they are made here.
    cursors = [connection.cursor() for _ in questions]
    try:
        with ThreadPoolExecutor(min(len(questions), _MOST_THREADS)) as threads:
            asked = [threads.submit(question, cursor) for question, cursor in zip(questions, cursors, strict=True)]
            try:
                return [one.result() for one in asked]
            except KeyboardInterrupt:
                # Leaving the pool waits for its threads, which hear of no signal.
                for one, cursor in zip(asked, cursors, strict=True):
                    one.cancel()
                    cursor.interrupt()
                raise
    finally:
        for cursor in cursors:
            cursor.close()
