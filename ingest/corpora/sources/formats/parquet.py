"""A row of a Parquet file is a document."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from neurothek.ingest.corpora.errors import (
    column_not_text,
    no_text,
    text_too_long,
    unknown_column,
)
from neurothek.ingest.corpora.sources.document import BLOCK_BYTES, Document, FileFormat
from neurothek.ingest.corpora.text_memory import TextMemory

ROWS_AT_ONCE = 1_024


def read_parquet(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The texts of a column, row by row.

    Raises:
        OSError: the file is no Parquet, or breaks off.
    """
    try:
        yield from map(Document.of, _parquet(path, column, memory))
    except pa.ArrowException as error:
        raise OSError(str(error)) from error


def _parquet(path: Path, column: str, memory: TextMemory) -> Iterator[str]:
    kinds = {field.name: field.type for field in pq.read_schema(path)}
    texts = [name for name, kind in kinds.items() if _is_text(kind)]
    if column not in kinds:
        raise unknown_column(path, column, texts)
    if column not in texts:
        raise column_not_text(path, column, _kind_in_words(kinds[column]), texts)
    number = 0
    largest = _largest_page(path, column, memory)
    # A dictionary is kept as one: few texts that come often would be many as soon as they are read. One that is made of
    # values which have none would only take room, and of those that are stored by their differences Arrow makes none.
    encodings = _encodings(path, column)
    dictionaries = [column] * (
        {"RLE_DICTIONARY", "PLAIN_DICTIONARY"} & encodings != set() and _DIFFERENCES not in encodings
    )
    with pq.ParquetFile(path, read_dictionary=dictionaries, buffer_size=BLOCK_BYTES) as file:
        for group in range(file.num_row_groups):
            rows = _rows_at_once(file.metadata.row_group(group), column, memory, largest)
            for batch in file.iter_batches(rows, row_groups=[group], columns=[column]):
                for value in batch.column(0):
                    number += 1
                    # Its length before it is made a text of Python's, which has up to four bytes a character.
                    raw: Any = value.value if isinstance(value, pa.DictionaryScalar) else value
                    if raw.is_valid and raw.as_buffer().size > memory.longest_record:
                        raise text_too_long(path, f"row {number}", memory.longest_record, memory.memory_bytes)
                    text: str | None = value.as_py()
                    if text is not None:
                        yield text


def _rows_at_once(group: pq.RowGroupMetaData, column: str, memory: TextMemory, largest_page: int) -> int:
    """How many rows of a group are read at once: fewer where they are long."""
    chunks = _chunks(group, column)
    size = sum(chunk.total_uncompressed_size for chunk in chunks)
    if any(_DIFFERENCES in chunk.encodings for chunk in chunks):
        # A value says only where it differs from the one before, and may be as long as all of a page.
        size = max(size, largest_page * group.num_rows)
    return max(1, min(ROWS_AT_ONCE, memory.longest_record * group.num_rows // max(1, size)))


_DIFFERENCES = "DELTA_BYTE_ARRAY"


def _encodings(path: Path, column: str) -> set[str]:
    """How values of a column are stored anywhere in the file."""
    metadata = pq.read_metadata(path)
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return {encoding for group in groups for chunk in _chunks(group, column) for encoding in chunk.encodings}


def _chunks(group: pq.RowGroupMetaData, column: str) -> list[pq.ColumnChunkMetaData]:
    chunks = [group.column(number) for number in range(group.num_columns)]
    return [chunk for chunk in chunks if chunk.path_in_schema == column]


def _largest_page(path: Path, column: str, memory: TextMemory) -> int:
    """Bytes that the largest page of a column has once unpacked, as its header says: none is unpacked for that."""
    largest = 0
    metadata = pq.read_metadata(path)
    with path.open("rb") as file:
        for number in range(metadata.num_row_groups):
            for chunk in _chunks(metadata.row_group(number), column):
                # What a dictionary holds is there twice: as the page has it, and as Arrow does.
                most = memory.longest_page // (1 + chunk.has_dictionary_page)
                place = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
                end = place + chunk.total_compressed_size
                while place < end:
                    file.seek(place)
                    unpacked, packed = _page_sizes(file, path)
                    if unpacked > most:
                        raise text_too_long(path, "a page", most, memory.memory_bytes)
                    largest, place = max(largest, unpacked), file.tell() + packed
    return largest


def _page_sizes(file: BinaryIO, path: Path) -> tuple[int, int]:
    """Bytes of a page, unpacked and packed, from its header, which is read to its end.

    parquet.thrift: fields 2 and 3 of PageHeader, in Thrift's compact protocol.
    """
    sizes = {number: value for number, value in _fields(file, path) if number in _SIZES}
    if sizes.keys() != _SIZES or min(sizes.values()) < 0:
        raise no_text(path, "a page has no size")
    return sizes[2], sizes[3]


_SIZES = {2, 3}
_BOOLEANS, _BYTE, _INTEGERS, _BINARY, _STRUCT = {1, 2}, 3, {4, 5, 6}, 8, 12
"""Kinds of fields that headers of pages have."""


def _fields(file: BinaryIO, path: Path, depth: int = 0) -> Iterator[tuple[int, int]]:
    """The numbers of a struct's fields with their values, where these are integers; else 0."""
    number = 0
    while head := _read_byte(file, path):
        kind = head & 15
        number = number + (head >> 4) if head >> 4 else _integer(file, path)
        value = 0
        if kind in _INTEGERS:
            value = _integer(file, path)
        elif kind == _BYTE:
            _read_byte(file, path)
        elif kind == _BINARY:
            file.seek(_unsigned(file, path), os.SEEK_CUR)
        elif kind == _STRUCT and depth < 4:
            for _ in _fields(file, path, depth + 1):
                pass
        elif kind not in _BOOLEANS:
            raise no_text(path, "a page has no header")
        yield number, value


def _integer(file: BinaryIO, path: Path) -> int:
    number = _unsigned(file, path)
    return (number >> 1) ^ -(number & 1)


def _unsigned(file: BinaryIO, path: Path) -> int:
    """Seven bits a byte, the lowest first; the last byte is below 128."""
    number = 0
    for shift in range(0, 70, 7):
        byte = _read_byte(file, path)
        number |= (byte & 127) << shift
        if byte < 128:
            return number
    raise no_text(path, "a page has no header")


def _read_byte(file: BinaryIO, path: Path) -> int:
    read = file.read(1)
    if not read:
        raise no_text(path, "a page breaks off")
    return read[0]


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
