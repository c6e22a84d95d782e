"""SQL that people typed: judged by its text, then run in a process of its own that is bounded and can be ended."""

import io
import json
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from catalog.errors import NeurothekError
from catalog.warehouse import Warehouse
from queries import errors
from queries.answering import answering_process
from queries.definitions import definitions_of
from queries.errors import OverLimit, QueryFailed
from queries.limits import Answer, Limits
from queries.sandbox import known_relations

_GRACE_SECONDS = 1.0
"""DuckDB ends a query at its time limit itself, except inside one long step; then the process is ended."""

_STEP_SECONDS = 0.05

_FOR_WANT_OF_MEMORY = {signal.SIGABRT, signal.SIGBUS, signal.SIGKILL, signal.SIGSEGV}
"""Signals by which a library that gets no memory ends its process, or the operating system does."""

_NO_MEMORY = re.compile(
    r"out of memory|allocation failure|(could not|cannot|failed to) (allocate|pin|offload)|MemoryError|bad_alloc",
    re.IGNORECASE,
)


def ask_people(
    warehouse: Warehouse,
    query: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limits: Limits | None = None,
    corpus: str | None = None,
    updates: bool = True,
) -> Answer:
    """Judge and run one query that a person typed.

    Args:
        warehouse: where to ask.
        query: one SELECT, DESCRIBE, SUMMARIZE, SHOW or plain EXPLAIN.
        parameters: values of its `$name`s.
        limits: what it may use.
        corpus: the corpus that views tell of; None: each model's shown one.
        updates: whether views of an earlier release may be replaced first.

    Raises:
        EmptyQuery, NotOneQuery, NotAQuery, FunctionRefused, OutsideTheWarehouse, UnknownRelation: it is refused.
        UnknownColumn, QueryFailed: DuckDB objects.
        OverLimit: it took more time or memory than allowed.
        NoModels, UnknownCorpus: no model was measured on the corpus.
    """
    limits = limits or Limits()
    # Started first: it imports while the text is judged.
    with tempfile.TemporaryDirectory(prefix="neurothek-") as scratch, answering_process() as process:
        judge(warehouse, query, updates=updates)
        request = {**vars(limits), "path": str(warehouse.path), "query": query, "scratch": scratch, "corpus": corpus}
        try:
            text = json.dumps({**request, "parameters": dict(parameters or {})})
        except TypeError as error:
            raise QueryFailed("its parameters are no numbers, texts or lists of these") from error
        _send(process, text.encode())
        answer, complaint = _hear(process, limits)
        if process.returncode or not answer:
            raise _why_none(process.returncode, complaint, limits)
        return _read(answer, limits)


def judge(warehouse: Warehouse, query: str, *, updates: bool = True) -> None:
    """Refuse what a person may not ask, and name the nearest where a relation is unknown; nothing is run.

    Raises:
        EmptyQuery, NotOneQuery, NotAQuery, FunctionRefused, OutsideTheWarehouse, UnknownRelation, QueryFailed: it is
            refused.
    """
    # sqlglot takes a tenth of a second to import: while it does, the child imports too.
    from queries.admission import check_query  # noqa: PLC0415  (see above)

    with warehouse.current_reader() if updates else warehouse.reader() as connection:
        relations, definitions = known_relations(connection), definitions_of(connection)
    check_query(query, relations, catalog=warehouse.path.stem, definitions=definitions)


def _send(process: subprocess.Popen[bytes], request: bytes) -> None:
    """Hand the request over and wait for the byte that says that the query begins: starting up is not its time."""
    assert process.stdin is not None
    assert process.stdout is not None
    # One that has ended already says why on its stderr.
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(request)
    process.stdin = None
    process.stdout.read(1)


def _hear(process: subprocess.Popen[bytes], limits: Limits) -> tuple[bytes, bytes]:
    """All that it writes on its stdout and its stderr."""
    deadline = time.monotonic() + limits.seconds + _GRACE_SECONDS
    most_bytes = limits.memory_bytes + _resident_bytes(process.pid) if limits.is_watched else 0
    while True:
        left = max(0.0, deadline - time.monotonic())
        try:
            return process.communicate(timeout=min(left, _STEP_SECONDS) if limits.is_watched else left)
        except subprocess.TimeoutExpired:
            if time.monotonic() >= deadline:
                raise _too_long(limits) from None
        if limits.is_watched and _resident_bytes(process.pid) > most_bytes:
            raise _too_much(limits)


def _why_none(exit_code: int, complaint: bytes, limits: Limits) -> NeurothekError:
    """What a process died of that ended without a whole answer."""
    text = complaint.decode(errors="replace").strip()
    if -exit_code in _FOR_WANT_OF_MEMORY or _NO_MEMORY.search(text):
        error: NeurothekError = _too_much(limits)
    else:
        why = signal.strsignal(-exit_code) if exit_code < 0 else text.rpartition("\n")[2].strip()
        error = QueryFailed(f"the process that answers ended without an answer{f': {why}' if why else ''}")
    error.add_note(f"its exit code was {exit_code}; it complained of: {text[-2000:]}")
    return error


def _read(answer: bytes, limits: Limits) -> Answer:
    header_line, _, rows = answer.partition(b"\n")
    header = json.loads(header_line)
    if "error" in header:
        raise _error(header, limits)
    return Answer(pl.read_ipc_stream(io.BytesIO(rows)), bool(header["truncated"]))


def _error(header: Mapping[str, str], limits: Limits) -> NeurothekError:
    text = header.get("text", "")
    if "maximum execution time" in text:
        return _too_long(limits)
    if header["error"] == "memory" or _NO_MEMORY.search(text):
        return _too_much(limits)
    kind = getattr(errors, header["error"], NeurothekError)
    error: NeurothekError = kind.__new__(kind, text)
    error.args = (text,)
    return error


def _too_long(limits: Limits) -> OverLimit:
    return OverLimit(f"took more than {limits.seconds:g} s", "--seconds")


def _too_much(limits: Limits) -> OverLimit:
    return OverLimit(f"needed more than {limits.memory_bytes / 1e9:g} GB of memory", "--memory")


def _resident_bytes(pid: int) -> int:
    """Memory of a process, wherever there is a `ps`; 0 for one that has ended."""
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603, S607  (no text of a person's)
    return int(found.stdout.strip() or 0) * 1024
