"""Answers that come while their rows are found: all of them, in little memory, and never half without a word."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import neurothek
from neurothek.catalog.problems import LimitExceeded
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.terminal import outputs
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.sql.processes import Limits
from neurothek.queries.sql.run import stream_people

TYPES = """
select x, x / 7 as real, 'é' || x as text, [x, null, -x] as list, {'a': x, 'b': [x]} as struct, null as nothing,
  sum(x) over (order by x) as total, date '2026-01-01' + x::integer as day,
  timestamp '2026-01-01' + to_seconds(x) as at, timestamptz '2026-01-01 00:00:00+00' as zoned, x % 2 = 0 as is_even,
  ('b' || x)::blob as bytes, (x / 3)::decimal(10, 2) as price, uuid '00000000-0000-0000-0000-000000000001' as id,
  interval 3 day as waited, x::utinyint as small, '{"k": 1}'::json as json, if(x = 0, null, x) as holes,
  x::hugeint << 40 as wide, map {'k': x} as map, [x, x]::bigint[2] as pair
from range(200) as t(x) order by x
"""


@pytest.fixture(autouse=True)
def path(full_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", str(full_path))
    return full_path


def run(query: str, *arguments: str) -> Result:
    return CliRunner().invoke(neurothek.main, ["sql", query, *arguments], catch_exceptions=False)


def read_csv(written: bytes) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(written))


def read_parquet(written: io.BytesIO) -> pl.DataFrame:
    return pl.read_parquet(written.getvalue())


READERS: dict[str, Callable[[bytes], pl.DataFrame]] = {
    "csv": read_csv,
    "json": lambda written: pl.DataFrame(json.loads(written)),
    "parquet": lambda written: pl.read_parquet(io.BytesIO(written)),
}


@pytest.mark.parametrize("output_format", READERS)
def test_every_row_is_printed(output_format: str) -> None:
    result = run("select x, x * 2 as twice from range(123457) as t(x) order by x", "--format", output_format)
    assert (result.exit_code, result.stderr) == (0, "")
    found = READERS[output_format](result.stdout_bytes)
    assert found["x"].to_list() == list(range(123_457))
    assert found["twice"].to_list() == list(range(0, 2 * 123_457, 2))


def test_an_answer_in_many_batches_is_written_as_one(path: Path) -> None:
    """CSV and JSON byte for byte as a frame is written at once, Parquet value for value, whatever the types."""
    with Warehouse(path).reader() as connection:
        whole = run_query(connection, TYPES)
    batches = list(whole.iter_slices(7))
    for kind in ("csv", "json", "parquet"):
        at_once, streamed = io.BytesIO(), io.BytesIO()
        outputs.encode_rows([whole], kind, at_once)
        outputs.encode_rows([whole.clear(), *batches], kind, streamed)
        if kind == "parquet":
            frame = read_parquet(streamed)
            assert frame.equals(read_parquet(at_once))
            assert frame.equals(whole.cast(dict(frame.schema)))  # type: ignore[arg-type]
        else:
            assert streamed.getvalue() == at_once.getvalue()
        assert run(TYPES, "--format", kind).exit_code == 0
    assert json.loads(run(TYPES, "--format", "json").stdout) == outputs.records(whole)
    cells = read_csv(run(TYPES, "--format", "csv").stdout_bytes)["list"]
    assert [json.loads(cell) for cell in cells] == whole["list"].to_list()


def test_bytes_are_written_as_digits() -> None:
    query = "select 'a\\xFF'::blob as bytes, {'in': 'b'::blob, 'é': [1]} as nested, map {1: 2} as map"
    assert (
        run(query, "--format", "csv").stdout == 'bytes,nested,map\n61ff,"{""in"": ""62"", ""é"": [1]}","{""1"": 2}"\n'
    )
    assert json.loads(run(query, "--format", "json").stdout) == [
        {"bytes": "61ff", "nested": {"in": "62", "é": [1]}, "map": {"1": 2}}
    ]
    (row,) = pl.read_parquet(io.BytesIO(run(query, "--format", "parquet").stdout_bytes)).to_dicts()
    assert row == {"bytes": b"a\xff", "nested": {"in": b"b", "é": [1]}, "map": {1: 2}}


@pytest.mark.parametrize(("output_format", "written"), [("csv", b"a,b\n"), ("json", b"[]\n")])
def test_an_answer_without_rows_has_its_columns(output_format: str, written: bytes) -> None:
    query = "select 1 as a, 'x' as b where false"
    assert run(query, "--format", output_format).stdout_bytes == written
    assert pl.read_parquet(io.BytesIO(run(query, "--format", "parquet").stdout_bytes)).columns == ["a", "b"]


LATE = "select case when x = 2900000 then error('too late') else x end as x from range(3000000) as t(x)"


@pytest.mark.parametrize("output_format", READERS)
def test_what_fails_halfway_is_told_and_cannot_be_taken_for_whole(output_format: str) -> None:
    result = run(LATE, "--format", output_format, "-q")
    assert result.exit_code == 2
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith("Error: the query failed: too late")
    assert "rows printed so far are not the whole answer" in sentence
    written = result.stdout_bytes
    assert len(written) > 100_000
    if output_format == "json":
        with pytest.raises(json.JSONDecodeError):
            json.loads(written)
    if output_format == "parquet":
        with pytest.raises(pa.ArrowInvalid):
            parquet.ParquetFile(io.BytesIO(written))


@pytest.mark.parametrize("output_format", READERS)
def test_a_short_answer_is_printed_whole_or_not_at_all(output_format: str) -> None:
    result = run(
        "select case when x = 9000 then error('no') else x end from range(9999) as t(x)", "--format", output_format
    )
    assert (result.exit_code, result.stdout_bytes) == (2, b"")
    assert result.stderr.startswith("Error: the query failed: no; fix it")


@pytest.mark.parametrize("is_watched", [False, True], ids=["limited", "watched"])
def test_time_ends_rows_that_do_not_end(path: Path, is_watched: bool) -> None:
    limits = Limits(seconds=0.5, is_watched=is_watched)
    query = "select x, random() from range(1000000000000) as t(x)"
    with (
        pytest.raises(LimitExceeded, match=r"took more than 0\.5 s"),
        stream_people(Warehouse(path), query, limits=limits) as rows,
    ):
        for _ in rows:
            pass


def test_a_reader_that_waits_does_not_keep_the_query_going(path: Path) -> None:
    """Such as a pager that nobody turns: a publisher would wait with it."""
    limits = Limits(seconds=0.3)
    with stream_people(Warehouse(path), "select x from range(1000000000) as t(x)", limits=limits) as rows:
        frames = iter(rows)
        next(frames)
        assert rows._process.wait(timeout=10) != 0
        with pytest.raises(LimitExceeded, match=r"took more than 0\.3 s"):
            list(frames)


MEASURED = """
import resource, sys, neurothek
try:
    neurothek.main(sys.argv[1:])
except SystemExit as end:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, end.code, file=sys.stderr)
"""


def peak_kilobytes(output_format: str, n_rows: int) -> int:
    query = f"select x, repeat('x', 500) as text, [x, x] as list from range({n_rows}) as t(x)"
    command = [sys.executable, "-c", MEASURED, "sql", query, "--format", output_format, "--seconds", "120"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    peak, code = done.stderr.split()
    assert code == "0"
    return int(peak)


@pytest.mark.long
@pytest.mark.parametrize("output_format", ["csv", "json", "parquet"])
def test_a_large_answer_takes_no_more_memory_than_a_small_one(output_format: str) -> None:
    """150 MB of rows pass through: held, they would show more than once; some row groups of 32 MB may be."""
    small, large = peak_kilobytes(output_format, 100), peak_kilobytes(output_format, 300_000)
    assert large < small + (110_000 if output_format == "parquet" else 60_000)


def test_texts_that_are_long_go_in_pieces(path: Path) -> None:
    limits = replace(Limits(), memory_bytes=1_000_000_000)
    with stream_people(
        Warehouse(path), "select repeat('x', 1000000) as x from range(120) as t(n)", limits=limits
    ) as rows:
        sizes = [frame.estimated_size() for frame in rows]
    assert sum(sizes) >= 120_000_000
    assert max(sizes) <= 20_000_000
