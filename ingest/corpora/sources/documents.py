"""Texts of files, one after another: a text file whole, a line of jsonl, a row of Parquet; little is held at once."""

import codecs
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.corpora.errors import (
    ColumnMissing,
    ColumnNotText,
    ColumnUnknown,
    SourceNotText,
    SourceUnreadable,
    TextTooLong,
)
from ingest.corpora.text_memory import TextMemory

TABLES = (".jsonl", ".parquet")
ROWS_AT_ONCE = 1_024
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Document:
    """One text.

    Attributes:
        n_bytes: its length in UTF-8.
        blocks: its characters in order, to be read once.
    """

    n_bytes: int
    blocks: Iterable[str]

    @staticmethod
    def of(text: str) -> "Document":
        """A text that is held whole."""
        return Document(len(text.encode()), (text,))


def documents_of(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The documents of one file that are not empty.

    Args:
        path: the file.
        column: where the text stands in jsonl and Parquet.
        memory: how much of it may be held at once.

    Raises:
        SourceUnreadable, SourceNotText: it cannot be opened or parsed, or is no text.
        ColumnUnknown, ColumnMissing, ColumnNotText: the column is not there, or not everywhere, or holds no text.
        TextTooLong: a line or a row is longer than memory allows.
    """
    try:
        match path.suffix:
            case ".jsonl":
                found: Iterator[Document] = map(Document.of, _jsonl(path, column, memory))
            case ".parquet":
                found = map(Document.of, _parquet(path, column, memory))
            case _:
                found = _text(path)
        yield from (document for document in found if document.n_bytes)
    except (OSError, pa.ArrowException) as error:
        raise SourceUnreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise SourceNotText(path, f"a text of {column} is not UTF-8") from error


def _text(path: Path) -> Iterator[Document]:
    first = list(_two_blocks(path))
    if len(first) < 2:
        yield Document(sum(len(block.encode()) for block in first), first)
    else:
        # Read twice: what comes before a text's hash is its length.
        yield Document(sum(len(block.encode()) for block in _blocks(path)), _blocks(path))


def _two_blocks(path: Path) -> Iterator[str]:
    """The first two blocks of a file: a short file has one."""
    yield from (block for block, _ in zip(_blocks(path), range(2), strict=False))


def _blocks(path: Path) -> Iterator[str]:
    """The characters of a file without a byte order mark, line ends as line feeds, whichever system wrote them."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    place, held, is_last = 0, "", False
    with path.open("rb") as file:
        while not is_last:
            raw = file.read(BLOCK_BYTES)
            is_last = not raw
            if b"\0" in raw:
                raise SourceNotText(path, "it is a binary file")
            skipped = len(codecs.BOM_UTF8) if not place and raw.startswith(codecs.BOM_UTF8) else 0
            unfinished = len(decoder.getstate()[0])
            try:
                text = held + decoder.decode(raw[skipped:], final=is_last)
            except UnicodeDecodeError as error:
                raise SourceNotText(path, f"byte {place + skipped - unfinished + error.start} is not UTF-8") from error
            place += len(raw)
            # The line feed that belongs to it may begin the next block.
            held = "\r" if text.endswith("\r") and not is_last else ""
            text = text.removesuffix(held).replace("\r\n", "\n")
            if text:
                yield text


def _jsonl(path: Path, column: str, memory: TextMemory) -> Iterator[str]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(memory.longest_record + 1):
            number += 1
            if len(line) > memory.longest_record:
                raise TextTooLong(path, f"line {number}", memory.longest_record, memory.memory_bytes)
            if not line.strip():
                continue
            text = _cell(_row(line, path, number), column, path, number)
            if text is not None:
                yield _whole(text, path, number)


def _row(line: bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        # Integers are not needed, and Python refuses to read long ones.
        row = json.loads(line.decode("utf-8-sig"), parse_int=float)
    except UnicodeDecodeError as error:
        raise SourceNotText(path, f"line {number} is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise SourceNotText(path, f"line {number} is not JSON") from error
    if not isinstance(row, dict):
        raise SourceNotText(path, f"line {number} is not a JSON object")
    return row


def _cell(row: Mapping[str, Any], column: str, path: Path, number: int) -> str | None:
    """The text of a row, None where it is null."""
    value = row.get(column, ...)
    if isinstance(value, str | None):
        return value
    texts = [name for name, value in row.items() if isinstance(value, str)]
    if value is ...:
        raise ColumnMissing(path, column, number, texts)
    raise ColumnNotText(path, column, f"{_in_words(value)} in line {number}", texts)


def _in_words(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return "a number"
        case list():
            return "a list"
    return "an object"


def _whole(text: str, path: Path, line: int) -> str:
    """The text, unless it holds half of a character, which JSON allows and UTF-8 does not."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SourceNotText(path, f"line {line} holds half a character (a lone surrogate)") from error
    return text


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
