"""Answers that pages got before, kept as long as the warehouse is the same: a click runs a whole page again."""

from collections.abc import Callable
from typing import Any, TypeVar

import duckdb
import streamlit as st

from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets.reading import Reader, Reading

Answer = TypeVar("Answer")
State = tuple[str, tuple[int, ...]]

_MOST_ANSWERS = 200


def cached_answer(reader: Reader, ask: Callable[..., Answer], *question: Any) -> Answer:
    """The answer of `ask(connection, *question)`, from memory where the same was asked of the same warehouse.

    Args:
        reader: the page's lease, or what it reads of a corpus.
        ask: a function of a module, which only reads.
        question: what it is asked besides the connection.
    """
    about = reader.key if isinstance(reader, Reading) else ()
    answer: Answer = _answer_of_reader(state(), f"{ask.__module__}.{ask.__qualname__}", (about, *question), reader, ask)
    return answer


def warehouse_answer(ask: Callable[[duckdb.DuckDBPyConnection], Answer]) -> Answer:
    """The answer of `ask(connection)` about the whole warehouse: it is leased only where it was not asked before."""
    answer: Answer = _answer_of_warehouse(state(), f"{ask.__module__}.{ask.__qualname__}", ask)
    return answer


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _answer_of_warehouse(state: State, name: str, _ask: Callable[[duckdb.DuckDBPyConnection], Any]) -> Any:  # noqa: ANN401 - as below
    with backend().warehouse.reader() as connection:
        return _ask(connection)


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _answer_of_reader(
    state: State,
    name: str,
    question: tuple[Any, ...],
    _reader: Reader,
    _ask: Callable[..., Any],
) -> Any:  # noqa: ANN401 - whatever the question yields
    _, *arguments = question
    return _ask(_reader.connection() if isinstance(_reader, Reading) else _reader, *arguments)


def state() -> State:
    """What changes with every publish: when the file and its log were written, and how long they are."""
    path = backend().warehouse.path.absolute()
    files = (path, path.with_name(f"{path.name}.wal"))
    stats = [file.stat() for file in files if file.exists()]
    return str(path), tuple(number for stat in stats for number in (stat.st_ino, stat.st_mtime_ns, stat.st_size))
