"""Rows of a query as frames, through Arrow's own interface of C: pyarrow takes a quarter of a second to import."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from types import SimpleNamespace

import duckdb
import polars as pl

_FROM_DUCKDB = "got external error: "
"""What polars writes before the text of an error of DuckDB that comes up while it reads."""

_KINDS: Mapping[str, type[duckdb.Error]] = {
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "INTERRUPT Error": duckdb.InterruptException,
    "IO Error": duckdb.IOException,
    "INTERNAL Error": duckdb.InternalException,
    "FATAL Error": duckdb.FatalException,
}
"""How an error's text begins -> its class, where somebody asks for it."""


def as_frame(rows: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """All rows of a relation.

    Raises:
        duckdb.Error: the query fails.
        polars.exceptions.PolarsError: a column's type has no counterpart.
    """
    try:
        # Polars keeps the class of what it is given: of DuckDB's own, DuckDB complains when Python ends.
        return pl.DataFrame(SimpleNamespace(__arrow_c_stream__=rows.__arrow_c_stream__))
    except pl.exceptions.ComputeError as error:
        text = str(error)
        if not text.startswith(_FROM_DUCKDB):
            raise
        text = text.removeprefix(_FROM_DUCKDB)
        raise _KINDS.get(text.partition(":")[0], duckdb.Error)(text) from error


def frames(rows: duckdb.DuckDBPyRelation, *, n_rows: int) -> Iterator[pl.DataFrame]:
    """The rows while they are found, `n_rows` at a time; one frame of none comes first.

    Where pyarrow is not installed all of them are found first: polars reads no stream in parts.

    Raises:
        duckdb.Error: the query fails.
        OSError: it fails between two frames; the text is DuckDB's.
        polars.exceptions.PolarsError: a column's type has no counterpart.
    """
    if find_spec("pyarrow") is None:
        frame = as_frame(rows)
        yield frame.clear()
        yield from frame.iter_slices(n_rows)
        return
    import pyarrow  # noqa: PLC0415 - a quarter of a second, where rows are handed over as they are found

    reader = rows.to_arrow_reader(n_rows)
    # Not `empty_table`, which makes arrays of lists, for which pyarrow imports pandas.
    yield _framed(pyarrow.Table.from_batches([], schema=reader.schema))
    for batch in reader:
        yield _framed(batch)


def _framed(part: object) -> pl.DataFrame:
    frame = pl.from_arrow(part)  # type: ignore[arg-type]  # a batch or a table of Arrow
    assert isinstance(frame, pl.DataFrame)
    return frame
