"""SQL that people typed, in a process of its own: answered like any other, and ended at its limits."""

import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest

from neurothek.catalog.problems import Failed, Invalid, LimitExceeded, NeurothekError, NotFound, Refused
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.sql import processes, run
from neurothek.queries.sql.processes import Limits
from neurothek.queries.sql.run import ask_people
from tests.support import hostile

TIGHT = Limits(seconds=0.5, memory_bytes=300_000_000, rows=1000, threads=1)
WATCHED = replace(TIGHT, is_watched=True)

WITHIN_SECONDS = 2.0

DYING_IN_SENDING = """
import sys
import polars as pl
from neurothek.queries.sql import child as sandbox_child

def written(*_, **__):
    raise OSError

sandbox_child._warm_up()
sandbox_child._warm_up = lambda: None
pl.DataFrame.write_ipc_stream = written
sandbox_child.main(sys.stdin.buffer, sys.stdout.buffer)
"""
"""What the library that writes rows says where it gets no memory, at times: nothing."""

SENT_IN_PART = """
import sys
sys.stdin.read()
print('\\n{"bytes": 99}\\nrows', end="", flush=True)
raise OSError
"""

OTHERS: set[psutil.Process] = set()


@pytest.fixture(scope="module")
def warehouse(full_path: Path) -> Warehouse:
    return Warehouse(full_path)


def started(code: str) -> processes.Process:
    """A process that runs this in place of answering."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)


def living() -> set[psutil.Process]:
    return {child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE}


@pytest.fixture(autouse=True)
def _others() -> None:
    """What other tests left running in this process, such as servers that they fork from, is no child of ours."""
    OTHERS.clear()
    OTHERS.update(living())


def children() -> set[psutil.Process]:
    return living() - OTHERS


def test_rows_come_with_their_types(warehouse: Warehouse) -> None:
    answer = ask_people(
        warehouse,
        "select 1 as a, 2.5::double as b, 'x' as c, [1, 2] as d, {'k': 1} as e, interval 3 day as f, null as g,"
        " sum(7) as h, date '2026-01-01' as i, 'y' as a",
    )
    assert not answer.is_truncated
    assert answer.frame.columns == ["a", "b", "c", "d", "e", "f", "g", "h", "i", "a_1"]
    row = answer.frame.rows()[0]
    assert row[:8] == (1, 2.5, "x", [1, 2], {"k": 1}, "3 days", None, 7)
    assert answer.frame.schema["h"] == pl.Int64


@pytest.mark.parametrize("is_watched", [False, True], ids=["limited", "watched"])
@pytest.mark.parametrize("megabytes", [40, 80, 150, 340, 600, 1200])
def test_memory_is_the_querys_alone(warehouse: Warehouse, megabytes: int, is_watched: bool) -> None:
    """No limit is used up by what the process took to start, nor by what a library reserves where it finds room."""
    limits = replace(TIGHT, seconds=5, memory_bytes=megabytes * 1_000_000, is_watched=is_watched)
    answer = ask_people(warehouse, "select address, token_status from neurons order by address", limits=limits)
    assert answer.frame.height > 0


def test_a_file_that_is_no_warehouse_is_told(tmp_path: Path) -> None:
    (tmp_path / "no.duckdb").write_bytes(b"no warehouse")
    with pytest.raises(NeurothekError, match="is not a DuckDB file"):
        ask_people(Warehouse(tmp_path / "no.duckdb"), "select 1")


def test_rows_beyond_the_limit_are_said(warehouse: Warehouse) -> None:
    answer = ask_people(warehouse, "from range(5) as t(x) order by x", limits=replace(TIGHT, rows=3))
    assert (answer.frame.rows(), answer.is_truncated, answer.n_rows) == ([(0,), (1,), (2,)], True, 5)
    answer = ask_people(warehouse, "from range(3) as t(x)", limits=replace(TIGHT, rows=3))
    assert (answer.frame.height, answer.is_truncated, answer.n_rows) == (3, False, 3)


def test_rows_that_take_too_long_to_count_are_not(warehouse: Warehouse) -> None:
    endless = "with recursive t as (select 1 as x union all select x + 1 from t where x < 10000000000) from t"
    answer = ask_people(warehouse, f"{endless} limit 2000000000", limits=replace(TIGHT, seconds=20, rows=3))
    assert (answer.frame.height, answer.is_truncated, answer.n_rows) == (3, True, None)


def test_it_may_die_of_counting(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows have come, and are an answer, though nobody will know how many more there are."""
    code = (
        "import io, os, sys, polars as pl; sys.stdin.read(); rows = io.BytesIO()\n"
        "pl.DataFrame({'x': [1]}).write_ipc_stream(rows); out = sys.stdout.buffer\n"
        'out.write(b\'\\n{"bytes": %d}\\n%s{"truncated": true}\\n\' % (rows.tell(), rows.getvalue())); out.flush()\n'
        "os.abort()"
    )
    monkeypatch.setattr(processes, "_started", lambda: started(code))
    answer = ask_people(warehouse, "from range(2)", limits=replace(TIGHT, seconds=20, rows=1))
    assert (answer.frame.rows(), answer.is_truncated, answer.n_rows) == ([(1,)], True, None)


def test_values_are_bound(warehouse: Warehouse) -> None:
    query = "select address from neurons where model = $model and layer = $layer order by neuron limit 1"
    answer = ask_people(warehouse, query, {"model": "tiny-1m", "layer": 1}, limits=TIGHT)
    assert answer.frame.item() == "tiny-1m/L1N0"
    with pytest.raises(Failed, match="parameters must be numbers"):
        ask_people(warehouse, query, {"model": {1, 2}})


@pytest.mark.parametrize(
    ("query", "error", "sentence"),
    [
        ("select frequenzy from neurons", NotFound, "no column frequenzy; nearest: frequency"),
        ("select error('no')", Failed, "the query failed"),
        ("select 1 / 'x'", Failed, "Could not convert string"),
        ("drop view neurons", Refused, "DROP is refused"),
        ("from neuronz", NotFound, "nearest: neurons"),
        (
            "select repeat('x', 50000000) as x from range(4)",
            Failed,
            "its rows take more than 150 MB; ask for fewer",
        ),
    ],
)
def test_errors_are_those_of_any_query(warehouse: Warehouse, query: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as caught:
        ask_people(warehouse, query, limits=replace(TIGHT, seconds=20, memory_bytes=600_000_000))
    assert "\n" not in str(caught.value)
    assert not children()


def seconds_of(warehouse: Warehouse, query: str, limits: Limits) -> float:
    """Seconds until the query was answered or stopped; nothing else may come of it."""
    start = time.perf_counter()
    with contextlib.suppress(LimitExceeded, Failed):
        assert ask_people(warehouse, query, limits=limits).frame.height <= (limits.rows or 0)
    return time.perf_counter() - start


@pytest.mark.parametrize(
    "greedy", [hostile.GREEDY[::4], pytest.param(hostile.GREEDY, marks=pytest.mark.series)], ids=["some", "all"]
)
def test_the_greedy_are_bounded(warehouse: Warehouse, greedy: Sequence[str]) -> None:
    limits = replace(TIGHT, seconds=0.2)
    with ThreadPoolExecutor(2) as pool:
        start_up, *took = list(pool.map(lambda query: seconds_of(warehouse, query, limits), ["select 1", *greedy]))
    # Two processes start at a time, on a machine that may have other work.
    assert max(took) < WITHIN_SECONDS + 2 * start_up
    assert not children()


@pytest.mark.parametrize("limits", [TIGHT, WATCHED], ids=["limited", "watched"])
@pytest.mark.parametrize(
    ("query", "found"),
    [(hostile.GREEDY[0], "took more than 0.5 s"), ("select len(range(1000000000))", "needed more than 0.3 GB")],
)
def test_the_limit_is_named(warehouse: Warehouse, query: str, found: str, limits: Limits) -> None:
    with pytest.raises(LimitExceeded, match=f"the query {found}.* and was stopped; narrow it, or allow more with --"):
        ask_people(warehouse, query, limits=limits)


@pytest.mark.parametrize("query", ["select len(lpad('x', 900000000, 'y'))", "select len(repeat('x', 900000000))"])
def test_a_function_that_gets_no_memory_is_told_as_such(warehouse: Warehouse, query: str) -> None:
    with pytest.raises(LimitExceeded, match=r"needed more than 0\.06 GB"):
        ask_people(warehouse, query, limits=replace(TIGHT, seconds=20, memory_bytes=60_000_000))


@pytest.mark.parametrize(
    ("code", "error", "sentence"),
    [
        ("import os; os.abort()", LimitExceeded, "needed more than 0.3 GB"),
        ("raise MemoryError", LimitExceeded, "needed more than 0.3 GB"),
        ("raise OSError('no\\nroom')", Failed, r"ended without an answer \(exit code 1\); "),
        (DYING_IN_SENDING, LimitExceeded, "needed more than 0.3 GB"),
        (SENT_IN_PART, Failed, r"ended without an answer \(exit code 1\); "),
        ("import os; os.kill(os.getpid(), 15)", Failed, r"ended without an answer \(Terminated\); "),
        ("import sys; sys.stdin.read()", Failed, r"ended without an answer \(exit code 0\); "),
        ("print('\\n{}', flush=True); import os; os.abort()", LimitExceeded, "needed more than 0.3 GB"),
    ],
)
def test_a_process_that_dies_is_told_of(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, code: str, error: type[Exception], sentence: str
) -> None:
    monkeypatch.setattr(processes, "_started", lambda: started(code))
    with pytest.raises(error, match=sentence) as caught:
        ask_people(warehouse, "select 1", limits=TIGHT)
    assert not re.search(r"\w(Error|Exception)\b", str(caught.value))


@pytest.mark.usefixtures("at_a_terminal")
def test_an_interrupt_ends_the_answering_process(warehouse: Warehouse) -> None:
    timer = threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        ask_people(warehouse, hostile.GREEDY[0], limits=replace(TIGHT, seconds=20))
    assert time.perf_counter() - start < 3
    assert not children()


@pytest.mark.parametrize(
    "query",
    [
        "select current_setting('temp_directory')::varchar as told",
        "select current_setting('allowed_paths')::varchar as told",
        "select json_serialize_plan('select current_setting(''secret_directory'')', optimize := true) as told",
        "from query('select current_setting(''allowed_directories'')::varchar as told')",
        "select string_agg(value) as told from duckdb_settings() where not starts_with(name, 'allowed_')",
    ],
)
def test_no_setting_tells_of_the_machine_even_where_it_is_reached(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """Nobody judges: the process that answers has nothing to tell. That is for the lock's own lists of files alone."""
    monkeypatch.setattr(run, "_check", lambda *_: None)
    told = str(ask_people(warehouse, query, limits=replace(TIGHT, seconds=20)).frame.item())
    for folder in (warehouse.path.parent, Path.home(), Path(tempfile.gettempdir())):
        assert str(folder) not in told


@pytest.mark.long
def test_what_memory_does_not_hold_is_spilled(warehouse: Warehouse) -> None:
    query = "select count(*) from (select repeat(x::varchar, 30) as y from range({}) as t(x) order by y offset 1)"
    limits = replace(TIGHT, seconds=20, memory_bytes=200_000_000)
    assert ask_people(warehouse, query.format(700_000), limits=limits).frame.item() == 699_999
    with pytest.raises(LimitExceeded, match=r"needed more than 0\.2 GB"):
        ask_people(warehouse, query.format(5_000_000), limits=limits)


def test_a_publisher_need_not_wait_for_the_query_to_be_judged_again(full_path: Path, tmp_path: Path) -> None:
    """The asking process holds no lease while the query runs: a writer of its own gets in beside it or after it."""
    path = tmp_path / "copy.duckdb"
    path.write_bytes(full_path.read_bytes())
    warehouse = Warehouse(path)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask_people, warehouse, hostile.GREEDY[0], limits=replace(TIGHT, seconds=1.0))
        time.sleep(0.7)
        with warehouse.writer() as connection:
            connection.execute("select 1")
        with pytest.raises(LimitExceeded):
            asked.result()


def test_the_answering_process_imports_little() -> None:
    code = (
        "import sys, neurothek.queries.sql.child;"
        "print(sorted({'torch', 'streamlit', 'transformers', 'sqlglot', 'click', 'altair'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert not children()


@pytest.mark.parametrize(
    "query",
    [
        "select 'ö;' as a; -- ß",
        "select 'ö;' as a /* ; */ ;/* ; */;",
        "select 'ö;' as a -- ;",
        "-- ;\nselect 'ö;' /* - */ as a;\n\n--",
    ],
)
def test_a_comment_may_stand_anywhere(warehouse: Warehouse, query: str) -> None:
    assert ask_people(warehouse, query).frame.rows() == [("ö;",)]


@pytest.mark.parametrize(
    "bound",
    [
        {"seconds": math.nan},
        {"seconds": math.inf},
        {"seconds": 1e18},
        {"seconds": 0},
        {"memory_bytes": 1_000_000},
        {"rows": 10**20},
        {"rows": 0},
        {"threads": True},
    ],
)
def test_limits_that_bound_nothing_are_refused(bound: dict[str, Any]) -> None:
    (name,) = bound
    with pytest.raises(Invalid, match=f"{name}=.* is not valid; give a (whole )?number"):
        Limits(**bound)
