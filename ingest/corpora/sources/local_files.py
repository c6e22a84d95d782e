"""Files and folders of this machine as text; how a file is read depends on its suffix."""

import hashlib
import os
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from catalog.files import why_no_file
from ingest.corpora.errors import SourceEmpty, SourceMissing, SourceNotText, SourceUnreadable
from ingest.corpora.sources import formats
from ingest.corpora.sources.builtin import TextPart
from ingest.corpora.sources.document import Document, FileFormat
from ingest.corpora.sources.formats import plain
from ingest.corpora.text_memory import TextMemory

DEFAULT_COLUMN = "text"


@cache
def by_suffix() -> Mapping[str, FileFormat]:
    """Suffix -> how such files are read, of all modules of `formats`."""
    modules = (import_module(f"{formats.__name__}.{one.name}") for one in pkgutil.iter_modules(formats.__path__))
    return {module.FORMAT.suffix: module.FORMAT for module in modules}


def format_of(path: Path) -> FileFormat:
    """How a file is read: as plain text, if by no other."""
    return by_suffix().get(path.suffix, plain.FORMAT)


@dataclass(frozen=True)
class LocalFiles:
    """A file or a folder, with a column of its tables.

    Attributes:
        domain: what the text is called.
        location: a path, or PATH:COLUMN.
    """

    is_streamed: ClassVar[bool] = False
    domain: str
    location: str

    @classmethod
    def parse(cls, domain: str, location: str) -> "LocalFiles":
        """Whatever is of no other kind."""
        return cls(domain, location)

    def exists(self) -> bool:
        """Whether anything lies there."""
        return self.path.exists()

    def pinned(self) -> "LocalFiles":
        """The same wherever it is read from: an absolute path."""
        return replace(self, location=str(Path(self.location).absolute()))

    @property
    def path(self) -> Path:
        """The file or folder, without a column."""
        return self._divided()[0]

    @property
    def column(self) -> str:
        """The column of tables that holds the text."""
        return self._divided()[1]

    def _divided(self) -> tuple[Path, str]:
        whole = Path(self.location)
        before, colon, column = self.location.rpartition(":")
        if colon and column and not whole.exists() and format_of(Path(before)).has_columns:
            return Path(before), column
        return whole, DEFAULT_COLUMN

    def sha256(self) -> str:
        """A hash of the names and bytes of the files, known without reading them as text.

        Raises:
            SourceMissing, SourceNotText, SourceUnreadable, SourceEmpty: see `files`, and a file cannot be read.
        """
        digest = hashlib.sha256(self.column.encode())
        for path in self.files():
            name = path.relative_to(self.path).as_posix() if self.path.is_dir() else path.suffix
            try:
                with path.open("rb") as file:
                    digest.update(os.fsencode(name) + b"\0" + hashlib.file_digest(file, "sha256").digest())
            except OSError as error:
                raise SourceUnreadable(path, error) from error
        return digest.hexdigest()

    def documents(self, split: TextPart, memory: TextMemory) -> Iterator[Document]:
        """The documents that are not empty, of all files in their order.

        Raises:
            SourceMissing, SourceEmpty: nothing lies there, or no document.
            SourceUnreadable, SourceNotText, ColumnUnknown, ...: see `documents_of`.
        """
        is_empty = True
        for path in self.files():
            for document in documents_of(path, self.column, memory):
                is_empty = False
                yield document
        if is_empty:
            raise SourceEmpty(self.path)

    def files(self) -> list[Path]:
        """The file itself, or everything in a folder that is not hidden, sorted by path.

        Raises:
            SourceMissing: nothing lies there.
            SourceNotText: a named pipe, a socket, a device or a circle of links lies there or in the folder.
            SourceUnreadable: the system does not say what lies there.
            SourceEmpty: a folder without files.
        """
        path = self.path
        _require_plain(path)
        if path.is_file():
            return [path]
        if not path.is_dir():
            raise SourceMissing(self.domain, self.location)
        inside = sorted(
            found
            for found in path.rglob("*")
            if not any(part.startswith(".") for part in found.relative_to(path).parts) and not found.is_dir()
        )
        for found in inside:
            _require_plain(found)
        there = [found for found in inside if found.is_file()]
        if not there:
            raise SourceEmpty(path)
        return there


def documents_of(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The documents of one file that are not empty.

    Args:
        path: the file.
        column: where the text stands in tables.
        memory: how much of it may be held at once.

    Raises:
        SourceUnreadable, SourceNotText: it cannot be opened or parsed, or is not text.
        ColumnUnknown, ColumnMissing, ColumnNotText: the column is not there, or not everywhere, or holds no text.
        TextTooLong: a line or a row is longer than memory allows.
    """
    try:
        yield from (document for document in format_of(path).read(path, column, memory) if document.n_bytes)
    except (OSError, pa.ArrowException) as error:
        raise SourceUnreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise SourceNotText(path, f"a text of {column} is not UTF-8") from error


def _require_plain(path: Path) -> None:
    try:
        found = why_no_file(path)
    except OSError as error:
        raise SourceUnreadable(path, error) from error
    if found is not None:
        raise SourceNotText(path, f"it is neither a file nor a folder but {found}")
