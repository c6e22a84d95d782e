"""Parquet files of a catalog: row groups of a size, statistics and a page index, and where their parts end.

The same rows make the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.catalog.files import sha256_of
from neurothek.catalog.hub.layout import LEAST_ROWS, MOST_ROWS, PART_BYTES
from neurothek.catalog.hub.published import PublishedFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import duckdb
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData

_SAMPLED_ROWS = 2_048

_TAIL_BYTES = 8
"""The length of the footer, and the magic number, which end a file."""


@dataclass(frozen=True)
class Grouping:
    """How large row groups are made.

    Attributes:
        n_bytes: uncompressed.
        most_rows: rows, at most.
    """

    n_bytes: int
    most_rows: int = MOST_ROWS

    def rows(self, sample: pa.RecordBatch) -> int:
        """Rows of a group, a power of two: by those of a sample."""
        each = max(1.0, sample.nbytes / max(1, sample.num_rows))
        rows = 1 << max(0, int(self.n_bytes / each).bit_length() - 1)
        return min(self.most_rows, max(LEAST_ROWS, rows))


def write_rows(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    folder: Path,
    path: str,
    *,
    grouping: Grouping,
    measured: Sequence[str] | None = None,
    sorted_by: Sequence[str] = (),
) -> PublishedFile | None:
    """Write the rows of a query to a new file; None, and no file, where there are none.

    Args:
        connection: a reader.
        query: it says in which order the rows come.
        folder: of the catalog.
        path: of the file in it.
        grouping: size of row groups.
        measured: columns by which rows are looked for, which alone have statistics then; None: all, and a page index.
        sorted_by: columns by which the rows come sorted, for readers to know.
    """
    import pyarrow as pa  # noqa: PLC0415 - a quarter of a second, where something is published
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    reader = connection.sql(query).to_arrow_reader(_SAMPLED_ROWS)
    first = next((batch for batch in reader if batch.num_rows), None)
    if first is None:
        return None
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    n_rows = grouping.rows(first)
    names = list(reader.schema.names)
    order = [pq.SortingColumn(names.index(name)) for name in sorted_by if name in names]
    writer = pq.ParquetWriter(
        target,
        reader.schema,
        compression="zstd",
        # Of many small groups the footer would be megabytes, which every reader fetches first.
        write_page_index=measured is None,
        write_statistics=True if measured is None else list(measured),
        # What changes little between two publications is stored once by the hub.
        use_content_defined_chunking=True,
        sorting_columns=order or None,
    )
    with writer:
        for group in _groups(first, reader, n_rows):
            writer.write_table(pa.Table.from_batches(group), row_group_size=n_rows)
    return published_file(folder, path)


def _groups(first: pa.RecordBatch, reader: pa.RecordBatchReader, n_rows: int) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    n_held = 0
    for batch in chain([first], reader):
        while n_held + batch.num_rows >= n_rows:
            n_taken = n_rows - n_held
            yield [*group, batch.slice(0, n_taken)]
            group, n_held, batch = [], 0, batch.slice(n_taken)  # noqa: PLW2901 - the rest of it
        if batch.num_rows:
            group.append(batch)
            n_held += batch.num_rows
    if group:
        yield group


def published_file(folder: Path, path: str) -> PublishedFile:
    """What the manifest says of a file that was written."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - see above

    metadata = pq.read_metadata(folder / path)
    n_bytes = (folder / path).stat().st_size
    ends = _ends(metadata, n_bytes, _footer_bytes(folder / path))
    return PublishedFile(path, metadata.num_rows, n_bytes, sha256_of(folder / path), ends)


def _footer_bytes(path: Path) -> int:
    with path.open("rb") as file:
        file.seek(-_TAIL_BYTES, 2)
        return int.from_bytes(file.read(4), "little") + _TAIL_BYTES


def _ends(metadata: FileMetaData, n_bytes: int, footer_bytes: int) -> tuple[int, ...]:
    """Where parts end: with a row group, or within a large one, and before the footer."""
    ends: list[int] = []
    begin = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        n_leaves = group.num_columns
        for leaf in range(n_leaves):
            column = group.column(leaf)
            start = column.data_page_offset
            if column.has_dictionary_page and column.dictionary_page_offset is not None:
                start = min(start, column.dictionary_page_offset)
            end = start + column.total_compressed_size
            if leaf == n_leaves - 1 or end - begin >= PART_BYTES:
                ends.append(end)
                begin = end
    ends.append(max(n_bytes - footer_bytes, begin))
    ends.append(n_bytes)
    return tuple(sorted({end for end in ends if 0 < end <= n_bytes}))
