"""SQL that people typed: judged by its text, then run in a process of its own that is bounded and can be ended."""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from neurothek.catalog.store.connections import undisturbed
from neurothek.queries.ask.parse_tree import known_relations
from neurothek.queries.errors.refused_sql import failed_query
from neurothek.queries.sql.policy import QueryScope, look
from neurothek.queries.sql.processes import Answer, AnswerStream, Limits, answering_process

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping

    from neurothek.catalog.store.warehouse import Warehouse


def ask_people(
    warehouse: Warehouse,
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limits: Limits | None = None,
    corpus: str | None = None,
    updates: bool = True,
) -> Answer:
    """Judge and run one query that a person typed, and bring its rows together: a quarter of the memory holds them.

    Args:
        warehouse: where to ask.
        query: one SELECT, DESCRIBE, SUMMARIZE, SHOW or plain EXPLAIN.
        parameters: values of its `$name`s.
        limits: what it may use.
        corpus: the corpus that views tell of; None: each model's shown one.
        updates: whether views of an earlier release may be replaced first.
    """
    limits = limits or Limits()
    with _judged_query(
        warehouse, query, parameters, limits=limits, corpus=corpus, updates=updates, is_collected=True
    ) as stream:
        import polars as pl  # noqa: PLC0415  (slips are told without it)

        frame = pl.concat(list(stream), how="vertical_relaxed")
    return Answer(frame, stream.is_truncated, stream.n_rows)


@contextmanager
def stream_people(
    warehouse: Warehouse,
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limits: Limits | None = None,
    corpus: str | None = None,
    updates: bool = True,
) -> Iterator[AnswerStream]:
    """The same with rows that come while they are found, however many: memory holds a few megabytes of them."""
    limits = limits or Limits()
    with _judged_query(
        warehouse, query, parameters, limits=limits, corpus=corpus, updates=updates, is_collected=False
    ) as stream:
        yield stream


@contextmanager
def _judged_query(
    warehouse: Warehouse,
    query: str,
    parameters: Mapping[str, Any] | None,
    *,
    limits: Limits,
    corpus: str | None,
    updates: bool,
    is_collected: bool,
) -> Iterator[AnswerStream]:
    scope, is_likely = _first_look(warehouse, query, updates=updates)
    if not is_likely:
        _check(query, scope)
    # Started before the text is judged: it imports meanwhile.
    served = warehouse.served
    with tempfile.TemporaryDirectory(prefix="neurothek-") as scratch, answering_process(served) as (process, serving):
        _check(query, scope)
        request = {**vars(limits), **warehouse.handed_over(), "query": query, "scratch": scratch, "corpus": corpus}
        request["serving"] = serving
        try:
            text = json.dumps({**request, "is_collected": is_collected, "parameters": dict(parameters or {})})
        except TypeError as error:
            raise failed_query("its parameters must be numbers, texts or lists of these") from error
        _send(process, text.encode())
        # What loads polars may lose a Ctrl-C that comes while it does.
        with undisturbed():
            import_module("polars")
        yield AnswerStream(process, limits)


def judge(warehouse: Warehouse, query: str, *, updates: bool = True) -> None:
    """Refuse what a person may not ask, and name the nearest where a relation is unknown; nothing is run."""
    scope, _ = _first_look(warehouse, query, updates=updates)
    _check(query, scope)


def _first_look(warehouse: Warehouse, query: str, *, updates: bool) -> tuple[QueryScope, bool]:
    """The scope of the query, and whether it looks like one that is answered."""
    with warehouse.current_reader() if updates else warehouse.reader() as connection:
        catalog = warehouse.path.stem.casefold()
        scope = QueryScope(known_relations(), catalog)
        return scope, look(connection, query, scope)


def _check(query: str, scope: QueryScope) -> None:
    # sqlglot takes a quarter of a second to import: while it does, the child imports too.
    with undisturbed():
        from neurothek.queries.sql.admission import check_query  # noqa: PLC0415  (see above)

    check_query(query, scope.relations, catalog=scope.catalog)


def _send(process: subprocess.Popen[bytes], request: bytes) -> None:
    """Hand the request over and wait for the byte that says that the query begins: starting up is not its time."""
    assert process.stdin is not None
    assert process.stdout is not None
    # One that has ended already says why on its stderr.
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(request)
    process.stdin = None
    process.stdout.read(1)
