"""A line of jsonl is a document."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ingest.corpora.errors import ColumnMissing, ColumnNotText, SourceNotText, TextTooLong
from ingest.corpora.sources.document import Document, FileFormat
from ingest.corpora.text_memory import TextMemory


def read_jsonl(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The texts of a column, line by line.

    Raises:
        SourceNotText: a line is not a JSON object in UTF-8.
        ColumnMissing, ColumnNotText: the column is not everywhere, or holds no text.
        TextTooLong: a line is longer than memory allows.
    """
    return map(Document.of, _jsonl(path, column, memory))


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


FORMAT = FileFormat(".jsonl", read_jsonl, has_columns=True)
