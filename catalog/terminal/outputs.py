"""How rows leave for programs: as CSV, JSON or Parquet, batch by batch, so that memory holds one batch of them."""

import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import IO, Any, Literal

import polars as pl

from neurothek.catalog.problems import LimitExceeded

RowFormat = Literal["csv", "json", "parquet"]

_GROUP_ROWS, _GROUP_BYTES = 100_000, 16_000_000
"""A row group of Parquet ends at whichever comes first."""


_BEYOND_POLARS = re.compile(r"Binary|Map")
"""Types within cells that polars cannot write as JSON, or cannot always."""


def encode_rows(batches: Iterable[pl.DataFrame], kind: RowFormat, out: IO[bytes], *, encoding: str = "utf-8") -> None:
    """Write rows as they come; what fails on the way leaves neither valid JSON nor readable Parquet behind.

    Args:
        batches: frames with the same columns, at least one.
        kind: how they are written; cells of CSV hold lists and structs as JSON.
        out: where to.
        encoding: of text; where it is not Unicode, JSON and CSV escape what it lacks.
    """
    if kind == "csv":
        _write_csv(batches, out, encoding)
    elif kind == "json":
        _write_json(batches, out, encoding)
    else:
        _write_parquet(batches, out)
    out.flush()


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows as `encode_rows` writes them as JSON."""
    rows: list[dict[str, Any]] = json.loads(_as_json(frame))
    return rows


def json_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """An answer's parts as JSON holds them: frames as their rows, other things as their text."""
    parts = {name: records(part) if isinstance(part, pl.DataFrame) else part for name, part in data.items()}
    plain: dict[str, Any] = json.loads(json.dumps(parts, default=str))
    return plain


def is_unicode(encoding: str) -> bool:
    """Whether it has every character; what it lacks would no longer be JSON once it is escaped."""
    return encoding.lower().replace("-", "").startswith("utf")


def _write_csv(batches: Iterable[pl.DataFrame], out: IO[bytes], encoding: str) -> None:
    for number, batch in enumerate(batches):
        text = _flat(batch).write_csv(include_header=number == 0)
        out.write(text.encode(encoding, "backslashreplace"))


def _write_json(batches: Iterable[pl.DataFrame], out: IO[bytes], encoding: str) -> None:
    before = "["
    for batch in batches:
        text = _as_json(batch) if is_unicode(encoding) else json.dumps(records(batch))
        if not batch.is_empty():
            out.write((before + text[1:-1]).encode(encoding))
            before = ","
    out.write(("[]\n" if before == "[" else "]\n").encode(encoding))


def _as_json(frame: pl.DataFrame) -> str:
    """The rows as polars writes them; bytes, which it does not write, as hexadecimal digits."""
    if any(dtype.is_nested() and _BEYOND_POLARS.search(str(dtype)) for dtype in frame.dtypes):
        return _dumped(frame.to_dicts(), separators=(",", ":"))
    return frame.with_columns(pl.col(pl.Binary).bin.encode("hex")).write_json()


def _write_parquet(batches: Iterable[pl.DataFrame], out: IO[bytes]) -> None:
    # A quarter of a second to import, which text need not wait for.
    import pyarrow as pa
    from pyarrow import parquet

    sink, writer = _Sink(out), None
    try:
        for group in _row_groups(batches):
            rows = group.to_arrow()
            if writer is None:
                writer = parquet.ParquetWriter(pa.PythonFile(sink, mode="w"), rows.schema, compression="zstd")
            writer.write_table(rows)
        if writer is not None:
            writer.close()
    except BaseException:
        # Arrow writes the end of a file even where it gives the file up, which would then look whole.
        sink.is_given_up = True
        raise


class _Sink(io.RawIOBase):
    """An output that can be given up, after which what is written to it goes nowhere."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self.is_given_up = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401  (whatever has bytes)
        return len(data) if self.is_given_up else self._out.write(data)


def _row_groups(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The rows in larger pieces, all with the types of the first."""
    types: dict[str, pl.DataType] | None = None
    for group in _gathered(batches):
        rows = group.with_columns(pl.col(pl.Int128).cast(pl.Decimal(38, 0)))
        if types is None:
            types = dict(rows.schema)
        too_long = [name for name, dtype in rows.schema.items() if dtype.is_decimal() and types[name] == pl.Int64]
        if too_long:
            raise LimitExceeded(
                f"{', '.join(too_long)} contains integers of more than 64 bits after thousands of shorter ones, but a"
                " Parquet column has one type",
                "cast it to double or varchar and run the query again",
                what="bits",
                limit=64,
            )
        yield rows.cast(types)  # type: ignore[arg-type]  # polars asks for more than a mapping of names to types


def _gathered(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    waiting: list[pl.DataFrame] = []
    n_rows = n_bytes = 0
    for batch in batches:
        waiting.append(batch)
        n_rows, n_bytes = n_rows + batch.height, n_bytes + int(batch.estimated_size())
        if n_rows >= _GROUP_ROWS or n_bytes >= _GROUP_BYTES:
            yield pl.concat(waiting, how="vertical_relaxed")
            waiting, n_rows, n_bytes = [], 0, 0
    if waiting:
        yield pl.concat(waiting, how="vertical_relaxed")


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists and structs as JSON text, bytes as hexadecimal digits: CSV has no cells within cells, and is text."""
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    return frame.with_columns(
        pl.col(pl.Binary).bin.encode("hex"), *(_json_cells(frame.get_column(name)) for name in nested)
    )


def _json_cells(cells: pl.Series) -> pl.Series:
    return pl.Series(cells.name, [None if one is None else _dumped(one) for one in cells.to_list()], dtype=pl.String)


def _dumped(value: object, *, separators: tuple[str, str] | None = None) -> str:
    as_json = partial(json.dumps, ensure_ascii=False, allow_nan=False, default=_as_text, separators=separators)
    try:
        return as_json(value)
    except ValueError:
        return as_json(_finite(value))


def _finite(value: object) -> object:
    """The value with null where a number is infinite or NaN: JSON cannot hold these, and polars writes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    return value


def _as_text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
