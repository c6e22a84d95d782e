"""A row of a CSV or TSV file is a document; its first row names the columns."""

import csv
import io
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from neurothek.ingest.corpora.errors import (
    no_text,
    text_too_long,
    unknown_column,
)
from neurothek.ingest.corpora.sources.document import Document, FileFormat, byte_stream, suffix_of
from neurothek.ingest.corpora.text_memory import TextMemory

_BY_TABS = (".tsv", ".tab")


def read_csv(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The texts of a column, row by row."""
    with byte_stream(path) as file:
        yield from map(Document.of, _texts(_Lines(file, path, memory), path, column))


def _texts(lines: "_Lines", path: Path, column: str) -> Iterator[str]:
    first = next(lines, "")
    # Where a comma separates decimals, as in much of Europe, spreadsheets separate columns by semicolons.
    delimiter = "\t" if suffix_of(path) in _BY_TABS else ";" if ";" in first and "," not in first else ","
    # The library's limit holds for the whole process; ours is counted by `_Lines`.
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
    try:
        columns = next(rows, [])
        if columns.count(column) != 1 and first:
            raise unknown_column(path, column, sorted({name for name in columns if columns.count(name) == 1}))
        for row in rows:
            if row and len(row) != len(columns):
                raise no_text(
                    path, f"line {lines.number} has {len(row)} fields and the first row names {len(columns)} columns"
                )
            if row:
                yield row[columns.index(column)]
            lines.row_bytes = 0
    except csv.Error as error:
        raise no_text(path, f"line {lines.number} is not a row of a table ({error})") from error


class _Lines:
    """The lines of a file, no more of which are read than memory allows for a row.

    Attributes:
        number: of the line that was read last, from 1.
        row_bytes: read since it was last set to 0.
    """

    def __init__(self, file: io.BufferedIOBase, path: Path, memory: TextMemory) -> None:
        self._file, self._path, self._memory = file, path, memory
        self.number = self.row_bytes = 0

    def __iter__(self) -> "_Lines":
        """It is one already."""
        return self

    def __next__(self) -> str:
        """The next line with its end."""
        longest = self._memory.longest_row
        line = self._file.readline(longest + 1)
        self.number += bool(line)
        self.row_bytes += len(line)
        if self.row_bytes > longest:
            raise text_too_long(self._path, f"the row at line {self.number}", longest, self._memory.memory_bytes)
        if not line:
            raise StopIteration
        if b"\0" in line:
            raise no_text(self._path, "it is a binary file")
        try:
            return line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise no_text(self._path, f"line {self.number} is not UTF-8") from error


FORMAT = FileFormat((".csv", *_BY_TABS), read_csv, has_columns=True)
