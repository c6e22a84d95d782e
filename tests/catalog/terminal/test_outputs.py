"""Rows for programs: however they are divided the same text, valid in its format, and every value in it."""

import csv
import io
import json
import math
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import LimitExceeded
from neurothek.catalog.terminal import outputs
from neurothek.catalog.terminal.outputs import RowFormat, encode_rows, is_unicode, records


def written(kind: RowFormat, *batches: pl.DataFrame, encoding: str = "utf-8") -> bytes:
    out = io.BytesIO()
    encode_rows(batches, kind, out, encoding=encoding)
    return out.getvalue()


def strictly(text: bytes | str) -> Any:  # noqa: ANN401  (whatever JSON holds)
    """JSON as the standard has it: Python also takes the words NaN and Infinity."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.none() | TEXTS,
            "n": st.none() | st.integers(-(2**63), 2**63 - 1),
            "x": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "list": st.none() | st.lists(st.none() | TEXTS, max_size=3),
            "pair": st.none() | st.fixed_dictionaries({"k": TEXTS, "v": st.lists(st.integers(-9, 9), max_size=2)}),
        }
    ),
    max_size=6,
)
SCHEMA = pl.Schema(
    {
        "text": pl.String(),
        "n": pl.Int64(),
        "x": pl.Float64(),
        "list": pl.List(pl.String()),
        "pair": pl.Struct({"k": pl.String(), "v": pl.List(pl.Int64())}),
    }
)


@given(rows=ROWS, cut=st.integers(0, 6))
def test_rows_come_back_whole_however_they_are_divided(rows: list[dict[str, Any]], cut: int) -> None:
    frame = pl.DataFrame(rows, schema=SCHEMA)
    batches = frame[:cut], frame[cut:]
    assert strictly(written("json", *batches)) == rows
    assert written("json", *batches) == written("json", frame)
    assert written("csv", *batches) == written("csv", frame)
    assert records(frame) == rows
    cells = list(csv.DictReader(io.StringIO(written("csv", frame).decode(), newline="")))
    assert [json.loads(row["list"]) if row["list"] else None for row in cells] == [row["list"] for row in rows]
    assert [json.loads(row["pair"]) if row["pair"] else None for row in cells] == [row["pair"] for row in rows]
    assert [float(row["x"]) if row["x"] else None for row in cells] == [row["x"] for row in rows]


def test_an_empty_text_and_no_text_are_two_things() -> None:
    frame = pl.DataFrame({"x": ["", None]})
    assert written("csv", frame) == b'x\n""\n\n'
    assert strictly(written("json", frame)) == [{"x": ""}, {"x": None}]


def test_numbers_keep_their_sign_and_their_last_digit() -> None:
    values = [-0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2]
    frame = pl.DataFrame({"x": values})
    read = [row["x"] for row in strictly(written("json", frame))]
    assert read == values
    assert math.copysign(1, read[0]) == -1
    assert [float(cell) for cell in written("csv", frame).split()[1:]] == values


@pytest.mark.parametrize(
    "cell",
    [
        pl.Series("x", [[math.nan, None, -math.inf, 1.5]]),
        pl.Series("x", [{"n": math.nan, "b": b"\xff"}]),
        pl.Series("x", [[{"k": "a", "n": [math.inf]}]]),
        pl.Series("x", [math.nan]),
    ],
    ids=["list", "with bytes", "nested", "number"],
)
def test_what_is_no_number_is_null_in_json(cell: pl.Series) -> None:
    def expected(value: object) -> object:
        if isinstance(value, dict):
            return {key: expected(one) for key, one in value.items()}
        if isinstance(value, list):
            return [expected(one) for one in value]
        if isinstance(value, bytes):
            return value.hex()
        return None if isinstance(value, float) and not math.isfinite(value) else value

    frame = cell.to_frame()
    assert strictly(written("json", frame)) == [{"x": expected(value)} for value in cell.to_list()]
    assert strictly(written("json", frame, encoding="ascii")) == strictly(written("json", frame))
    if cell.dtype.is_nested():
        (row,) = csv.DictReader(io.StringIO(written("csv", frame).decode()))
        assert strictly(row["x"]) == expected(cell.to_list()[0])


def test_a_number_alone_is_said_to_be_none_in_csv() -> None:
    assert written("csv", pl.DataFrame({"x": [math.nan, math.inf, -math.inf]})) == b"x\nNaN\ninf\n-inf\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "UTF-16-LE"])
def test_json_is_json_in_any_encoding(encoding: str) -> None:
    frame = pl.DataFrame({"é😀": ['"\n\u2028 é 😀']})
    text = written("json", frame, encoding=encoding).decode(encoding)
    assert strictly(text) == frame.to_dicts()
    assert is_unicode(encoding) == encoding.lower().startswith("utf")


def test_csv_escapes_what_an_encoding_lacks() -> None:
    assert written("csv", pl.DataFrame({"é": ["é 😀"]}), encoding="latin-1") == b"\xe9\n\xe9 \\U0001f600\n"


def test_no_rows_are_an_empty_list_and_a_header() -> None:
    nothing = pl.DataFrame({"a": [1], "b": [[1]]}).clear()
    assert written("json", nothing, nothing) == written("json", nothing) == b"[]\n"
    assert written("csv", nothing, nothing) == b"a,b\n"
    assert pl.read_parquet(written("parquet", nothing)).schema == nothing.schema
    rows = pl.DataFrame({"a": [1], "b": [[1]]})
    assert strictly(written("json", nothing, rows, nothing, rows)) == [*rows.to_dicts(), *rows.to_dicts()]


def test_a_parquet_file_that_was_given_up_does_not_look_whole() -> None:
    def breaks() -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"x": range(outputs._GROUP_ROWS)})
        raise RuntimeError("the query failed")

    out = io.BytesIO()
    with pytest.raises(RuntimeError, match="the query failed"):
        encode_rows(breaks(), "parquet", out)
    assert not out.getvalue().endswith(b"PAR1")


@pytest.mark.parametrize("sizes", [(outputs._GROUP_ROWS,), (outputs._GROUP_ROWS - 1, 2), (1, outputs._GROUP_ROWS, 1)])
def test_row_groups_end_where_they_are_full(sizes: tuple[int, ...]) -> None:
    from pyarrow import parquet  # noqa: PLC0415  (a quarter of a second)

    batches = [pl.DataFrame({"x": [number] * size}) for number, size in enumerate(sizes)]
    content = written("parquet", *batches)
    file = parquet.ParquetFile(io.BytesIO(content))
    groups = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert sum(groups) == sum(sizes)
    assert all(size >= outputs._GROUP_ROWS for size in groups[:-1])
    assert pl.read_parquet(content)["x"].to_list() == [n for n, size in enumerate(sizes) for _ in range(size)]


def test_whole_numbers_of_two_lengths_are_one_column_or_an_error() -> None:
    short, long = (
        pl.DataFrame({"n": pl.Series([value], dtype=dtype)}) for value, dtype in [(1, pl.Int64), (2**80, pl.Int128)]
    )
    out = io.BytesIO()
    outputs.encode_rows([short, long], "csv", out)
    assert out.getvalue() == f"n\n1\n{2**80}\n".encode()
    for batches in ([short, long], [long, short]):
        out = io.BytesIO()
        outputs.encode_rows(batches, "parquet", out)
        assert set(pl.read_parquet(out.getvalue())["n"].to_list()) == {1, 2**80}

    def later() -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"n": range(outputs._GROUP_ROWS)})
        yield long

    with pytest.raises(LimitExceeded, match="cast it to double or varchar and run the query again"):
        outputs.encode_rows(later(), "parquet", io.BytesIO())
