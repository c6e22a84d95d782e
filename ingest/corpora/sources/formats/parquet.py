"""A row of a Parquet file is a document."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.corpora.errors import ColumnNotText, ColumnUnknown, TextTooLong
from ingest.corpora.sources.document import BLOCK_BYTES, Document, FileFormat
from ingest.corpora.text_memory import TextMemory

ROWS_AT_ONCE = 1_024


def read_parquet(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The texts of a column, row by row.

    Raises:
        ColumnUnknown, ColumnNotText: the column is not there, or holds no text.
        TextTooLong: a row is longer than memory allows.
    """
    return map(Document.of, _parquet(path, column, memory))


def _parquet(path: Path, column: str, memory: TextMemory) -> Iterator[str]:
    kinds = {field.name: field.type for field in pq.read_schema(path)}
    texts = [name for name, kind in kinds.items() if _is_text(kind)]
    if column not in kinds:
        raise ColumnUnknown(path, column, texts)
    if column not in texts:
        raise ColumnNotText(path, column, _kind_in_words(kinds[column]), texts)
    number = 0
    # A dictionary is kept as one: few texts that come often would be many as soon as they are read.
    with pq.ParquetFile(path, read_dictionary=[column], buffer_size=BLOCK_BYTES) as file:
        for group in range(file.num_row_groups):
            rows = _rows_at_once(file.metadata.row_group(group), column, memory)
            for batch in file.iter_batches(rows, row_groups=[group], columns=[column]):
                for value in batch.column(0):
                    number += 1
                    text: str | None = value.as_py()
                    if text is not None and len(text) > memory.longest_record:
                        raise TextTooLong(path, f"row {number}", memory.longest_record, memory.memory_bytes)
                    if text is not None:
                        yield text


def _rows_at_once(group: pq.RowGroupMetaData, column: str, memory: TextMemory) -> int:
    """How many rows of a group are read at once: fewer where they are long."""
    chunks = [group.column(number) for number in range(group.num_columns)]
    size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == column)
    return max(1, min(ROWS_AT_ONCE, memory.longest_record * group.num_rows // max(1, size)))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


_KINDS = (
    (pa.types.is_struct, "structs"),
    (pa.types.is_map, "maps"),
    (pa.types.is_nested, "lists"),
    (pa.types.is_boolean, "truth values"),
    (pa.types.is_date, "dates"),
    (pa.types.is_timestamp, "times"),
    (pa.types.is_time, "times of day"),
    (pa.types.is_duration, "durations"),
    (pa.types.is_integer, "whole numbers"),
    (pa.types.is_floating, "numbers"),
    (pa.types.is_decimal, "decimal numbers"),
    (pa.types.is_null, "nothing"),
)


def _kind_in_words(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return next((words for is_kind, words in _KINDS if is_kind(kind)), "bytes")


FORMAT = FileFormat((".parquet", ".pq"), read_parquet, has_columns=True, is_packed=False)
