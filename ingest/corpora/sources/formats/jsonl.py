"""A line of jsonl is a document."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from neurothek.catalog.problems import NotFound
from neurothek.ingest.corpora.errors import (
    column_not_text,
    no_text,
    other_columns,
    text_too_long,
)
from neurothek.ingest.corpora.sources.document import Document, FileFormat, byte_stream
from neurothek.ingest.corpora.text_memory import TextMemory

# Integers are not needed, and Python refuses to read long ones.
DECODER = json.JSONDecoder(parse_int=float)


def read_jsonl(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The texts of a column, line by line."""
    return texts_of(_lines(path, memory), path, column)


def texts_of(rows: Iterator[tuple[str, object]], path: Path, column: str) -> Iterator[Document]:
    """The texts of a column of JSON objects, each of which comes with its place in the file, in words."""
    for place, row in rows:
        if not isinstance(row, dict):
            raise no_text(path, f"{place} is not a JSON object")
        text = _cell(row, column, path, place)
        if text is not None:
            yield Document.of(_whole(text, path, place))


def _lines(path: Path, memory: TextMemory) -> Iterator[tuple[str, object]]:
    with byte_stream(path) as file:
        number = 0
        while line := file.readline(memory.longest_row + 1):
            number += 1
            if len(line) > memory.longest_row:
                raise text_too_long(path, f"line {number}", memory.longest_row, memory.memory_bytes)
            if line.strip():
                yield f"line {number}", _value(line, path, number)


def _value(line: bytes, path: Path, number: int) -> object:
    try:
        return DECODER.decode(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise no_text(path, f"line {number} is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise no_text(path, f"line {number} is not JSON") from error


def _cell(row: Mapping[str, Any], column: str, path: Path, place: str) -> str | None:
    """The text of a row, None where it is null."""
    value = row.get(column, ...)
    if isinstance(value, str | None):
        return value
    texts = [name for name, value in row.items() if isinstance(value, str)]
    if value is ...:
        message, kind_of_place = f"{place} of {path} has no column {column!r}", place.partition(" ")[0]
        hint = f"{other_columns(path, texts)}, or fix that {kind_of_place}"
        raise NotFound(message, hint, what="column", name=column, known=texts)
    raise column_not_text(path, column, f"{_in_words(value)} in {place}", texts)


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


def _whole(text: str, path: Path, place: str) -> str:
    """The text, unless it holds half of a character, which JSON allows and UTF-8 does not."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise no_text(path, f"{place} holds half a character (a lone surrogate)") from error
    return text


FORMAT = FileFormat((".jsonl", ".ndjson", ".jsonlines", ".ldjson"), read_jsonl, has_columns=True)
