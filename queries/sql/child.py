"""The process that answers SQL which people typed: it reads one request, bounds itself, answers, and ends."""

import io
import json
import os
import resource
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import polars as pl

from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.ask.one_query import count_rows, stream_query
from neurothek.queries.errors.refused_sql import failed_query
from neurothek.queries.sql.serving import ServedFiles
from neurothek.queries.views import install
from neurothek.queries.views.on_corpus import on_corpus, refuse_facts

_DUCKDB_SHARE = 0.75
"""Of the memory, what DuckDB may plan with; functions that take memory outside of its plan need the rest."""

_PIECE_BYTES = 16_000_000
"""What the process that asks has to hold at a time, unless one row is longer."""

_COUNTING_SECONDS = 2.0
"""How long an answer that was cut may wait to be told how many rows there are."""

_SPILL = "spilled"
"""Where DuckDB puts what memory does not hold, in the folder that this process works in: a name that tells nothing."""

_NAMELESS = (("temp_directory", _SPILL), ("secret_directory", "-"), ("extension_directory", ""), ("home_directory", ""))
"""Settings that would name folders of this machine; of those that the lock itself fills in, `_hush` is silent."""


def main(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer the request on `requests`: a byte when the query begins, then lines of JSON, the last with the rows' end.

    A line {"bytes": n} is followed by n bytes, some rows as an Arrow stream; {"truncated": ...} says that all rows were
    sent, or all that were asked for, and a line {"n_rows": ...} how many there are; {"error": ...} that no more
    will come: its fields, or null where memory was refused.
    """
    _warm_up()
    text = requests.read()
    if not text:
        return
    request = json.loads(text)
    with ExitStack() as lease:
        try:
            warehouse = _warehouse(request)
            connection = lease.enter_context(warehouse.reader())
            _hush(connection)
        except NeurothekError as error:
            answers.write(b"\n" + _header_of(error) + b"\n")
            return
        # What it took to start and to open is not the query's; now its time and its memory begin.
        _bound(request)
        answers.write(b"\n")
        answers.flush()
        try:
            with warehouse.complaints(), on_corpus(connection, (), request["corpus"]) as prepared:
                if prepared is not connection:
                    refuse_facts(prepared, request["query"], request["corpus"])
                _answer(prepared, request, answers)
        except NeurothekError as error:
            answers.write(_header_of(error) + b"\n")
        except MemoryError:
            answers.write(b'{"error": null}\n')
        answers.flush()


def _warm_up() -> None:
    """Send some rows to nowhere: what libraries take once, to run a query and to hand over its rows, is not its own."""
    with duckdb.connect() as connection:
        for frame in stream_query(
            connection, "select i, i::varchar as t, [i] as l from range(20000) as r(i) order by t"
        ):
            _send(frame, io.BytesIO())


def _warehouse(request: dict[str, Any]) -> Warehouse:
    settings = (
        ("memory_limit", f"{int(request['memory_bytes'] * _DUCKDB_SHARE)}B"),
        ("threads", str(request["threads"])),
        *_NAMELESS,
        ("max_temp_directory_size", f"{request['memory_bytes']}B"),
        ("max_execution_time", str(int(request["seconds"] * 1000))),
    )
    path = Path(request["path"]).absolute()
    os.chdir(request["scratch"])
    if request["serving"] is not None:
        # Here, as few catalogs are asked.
        from neurothek.catalog.hub.catalog import catalog_for_people  # noqa: PLC0415

        return catalog_for_people(request["catalog"], ServedFiles(request["serving"]), install, settings)
    return Warehouse(path, views=install, reader_settings=settings)


def _hush(connection: duckdb.DuckDBPyConnection) -> None:
    """Have `current_setting` tell nothing, should a query get to it: a temporary macro goes before it."""
    connection.execute("create temp macro current_setting(name) as null")


def _answer(connection: duckdb.DuckDBPyConnection, request: dict[str, Any], answers: BinaryIO) -> None:
    query, parameters, most_rows = request["query"], request["parameters"], request["rows"]
    limit = None if most_rows is None else most_rows + 1
    n_found = n_bytes = 0
    for frame in stream_query(connection, query, parameters, most_rows=limit):
        part = frame if most_rows is None else frame.head(max(0, most_rows - n_found))
        n_found += frame.height
        n_bytes += int(frame.estimated_size())
        if request["is_collected"] and n_bytes > request["memory_bytes"] // 4:
            raise failed_query(
                f"its rows take more than {request['memory_bytes'] / 4e6:,.0f} MB; ask for fewer of them"
            )
        _send(part, answers)
    is_truncated = most_rows is not None and n_found > most_rows
    _tell(answers, truncated=is_truncated)
    counted = count_rows(connection, query, parameters, seconds=_COUNTING_SECONDS) if is_truncated else n_found
    _tell(answers, n_rows=counted)


def _send(frame: pl.DataFrame, answers: BinaryIO) -> None:
    n_pieces = min(frame.height, int(frame.estimated_size()) // _PIECE_BYTES + 1)
    for piece in frame.iter_slices(-(-frame.height // n_pieces)) if n_pieces > 1 else [frame]:
        rows = io.BytesIO()
        try:
            # Newer layouts of text send along what other rows hold.
            piece.write_ipc_stream(rows, compat_level=pl.CompatLevel.oldest())
        except OSError as error:
            # They are written to memory, where nothing else goes wrong.
            raise MemoryError from error
        _tell(answers, bytes=rows.tell())
        answers.write(rows.getbuffer())
        answers.flush()


def _tell(answers: BinaryIO, **fields: int | bool | None) -> None:
    answers.write(json.dumps(fields).encode() + b"\n")
    answers.flush()


def _header_of(error: NeurothekError) -> bytes:
    return json.dumps({"error": error.to_dict()}).encode()


def _bound(request: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not request["is_watched"]:
        # Data, not addresses: of these, what may not be written yet costs nothing, and threads reserve much.
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
        most = pages * resource.getpagesize() + int(request["memory_bytes"])
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
