"""The process that answers SQL which people typed: it reads one request, bounds itself, answers, and ends."""

import json
import os
import resource
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import polars as pl
import pyarrow  # noqa: F401  (DuckDB hands rows over by it: importing it within the bounds would be paid by the query)

from catalog.damage import damage_told
from catalog.errors import NeurothekError
from catalog.warehouse import Warehouse
from queries.errors import QueryFailed
from queries.on_corpus import on_corpus
from queries.sandbox import run_query

_DUCKDB_SHARE = 0.75
"""Of the memory, what DuckDB may plan with; functions that take memory outside of its plan need the rest."""


_SPILL = "spilled"
"""Where DuckDB puts what memory does not hold, in the folder that this process works in: a name that tells nothing."""

_NAMELESS = (("temp_directory", _SPILL), ("secret_directory", ""), ("extension_directory", ""), ("home_directory", ""))
"""Settings that would name folders of this machine; of those that the lock itself fills in, `_hush` is silent."""


def main(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer the request on `requests`: a byte when the query begins, a line of JSON, the rows as an Arrow stream."""
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
        frame = None
        try:
            with damage_told(warehouse.path), on_corpus(connection, (), request["corpus"]) as shown:
                header, frame = _answer(shown, request)
        except NeurothekError as error:
            header = _header_of(error)
        except MemoryError:
            header = b'{"error": "memory"}'
        answers.write(header + b"\n")
        if frame is not None:
            frame.write_ipc_stream(answers)
        answers.flush()


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
    return Warehouse(path, reader_settings=settings)


def _hush(connection: duckdb.DuckDBPyConnection) -> None:
    """Have `current_setting` tell nothing, should a query get to it: a temporary macro goes before it."""
    connection.execute("create temp macro current_setting(name) as null")


def _answer(connection: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> tuple[bytes, pl.DataFrame]:
    rows = int(request["rows"])
    frame = run_query(connection, request["query"], request["parameters"], most_rows=rows + 1)
    found = frame.estimated_size()
    if found > request["memory_bytes"] // 4:
        raise QueryFailed(f"its rows take {found / 1e6:,.0f} MB; ask for fewer columns or shorter texts")
    return json.dumps({"truncated": frame.height > rows}).encode(), frame.head(rows)


def _header_of(error: NeurothekError) -> bytes:
    return json.dumps({"error": type(error).__name__, "text": str(error)}).encode()


def _bound(request: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not request["is_watched"]:
        # Data, not addresses: of these, what may not be written yet costs nothing, and threads reserve much.
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
        most = pages * resource.getpagesize() + int(request["memory_bytes"])
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
