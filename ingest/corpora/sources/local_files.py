"""Files and folders of this machine as text; how a file is read depends on its suffix."""

import hashlib
import itertools
import os
import pkgutil
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import ClassVar

from neurothek.catalog.arguments import expanded
from neurothek.catalog.files import why_no_file
from neurothek.catalog.problems import Unreadable
from neurothek.ingest.corpora.errors import (
    missing_text,
    no_text,
)
from neurothek.ingest.corpora.sources import formats
from neurothek.ingest.corpora.sources.builtin import TextPart
from neurothek.ingest.corpora.sources.document import GZIP, Document, FileFormat, suffix_of
from neurothek.ingest.corpora.sources.formats import plain
from neurothek.ingest.corpora.text_memory import TextMemory

DEFAULT_COLUMN = "text"

_MOST_LOOKED_AT = 100
"""Tables of a folder that are opened before anything else is loaded."""

_AS_IT_STANDS = "or rename it to .txt to have every character read"

_REFUSED: Mapping[str, tuple[str, str]] = {
    suffix: (kind, advice)
    for suffixes, kind, advice in (
        (".ipynb", "it is a notebook", f"convert it with `jupyter nbconvert --to markdown`, {_AS_IT_STANDS}"),
        (".html .htm .xhtml .xml .svg .rss", "it is markup", f"extract its text, {_AS_IT_STANDS}"),
        (".srt .vtt .conll .conllu", "it holds more than text in its lines", f"extract its text, {_AS_IT_STANDS}"),
        (".pdf .ps .docx .doc .odt .rtf .epub", "it is a formatted document", "save it as plain text"),
        (".xlsx .xls .ods", "it is a spreadsheet", "save it as .csv"),
        (".arrow .feather .avro .orc .db .sqlite .duckdb", "it is a table in another format", "write it as .parquet"),
        (".zip .tar .tgz .bz2 .xz .zst .lz4 .7z .rar", "it is packed, and only .gz is unpacked", "unpack it"),
    )
    for suffix in suffixes.split()
}
"""What is no prose as it stands: suffix -> what such a file is, and what to do."""

_ABOUT = re.compile(
    r"(readme|licen[cs]e|copying|notice|citation|changelog|contributing|authors|dataset_infos?)(\.\w+)*",
    flags=re.IGNORECASE,
)
"""Names of files that say something about the texts beside them."""


@cache
def by_suffix() -> Mapping[str, FileFormat]:
    """Suffix -> how such files are read, of all modules of `formats`."""
    modules = (import_module(f"{formats.__name__}.{one.name}") for one in pkgutil.iter_modules(formats.__path__))
    return {suffix: module.FORMAT for module in modules for suffix in module.FORMAT.suffixes}


def format_of(path: Path) -> FileFormat:
    """How a file is read: as plain text, if by no other."""
    return by_suffix().get(suffix_of(path), plain.FORMAT)


@dataclass(frozen=True)
class LocalFiles:
    """A file or a folder, with a column of its tables."""

    is_streamed: ClassVar[bool] = False
    domain: str  # what the text is called
    location: str  # a path, or PATH:COLUMN

    @classmethod
    def parse(cls, domain: str, location: str) -> "LocalFiles":
        """Whatever is of no other kind."""
        return cls(domain, location)

    def exists(self) -> bool:
        """Whether anything lies there."""
        return self.path.exists()

    def pinned(self) -> "LocalFiles":
        """The same wherever it is read from: an absolute path."""
        return replace(self, location=str(expanded(self.location).absolute()))

    @property
    def path(self) -> Path:
        """The file or folder, without a column."""
        return self._divided()[0]

    @property
    def column(self) -> str:
        """The column of tables that holds the text."""
        return self._divided()[1]

    def _divided(self) -> tuple[Path, str]:
        whole = expanded(self.location)
        before, colon, column = self.location.rpartition(":")
        divided = expanded(before)
        if colon and column and not whole.exists() and (divided.is_dir() or format_of(divided).has_columns):
            return divided, column
        return whole, DEFAULT_COLUMN

    def sha256(self) -> str:
        """A hash of the names and bytes of the files, known without reading them as text."""
        digest = hashlib.sha256(self.column.encode())
        for path in self.files():
            name = path.relative_to(self.path).as_posix() if self.path.is_dir() else path.suffix
            try:
                with path.open("rb") as file:
                    digest.update(os.fsencode(name) + b"\0" + hashlib.file_digest(file, "sha256").digest())
                digest.update((_read_as(path) or "").encode())
            except OSError as error:
                raise _unreadable(path, error) from error
        return digest.hexdigest()

    def documents(self, split: TextPart, memory: TextMemory) -> Iterator[Document]:
        """The documents that are not empty, of all files in their order."""
        is_empty = True
        for path in self.files():
            for document in documents_of(path, self.column, memory):
                is_empty = False
                yield document
        if is_empty:
            raise _empty(self.path)

    def files(self) -> list[Path]:
        """The file itself, or everything in a folder that is not hidden or left out, sorted by path."""
        return self._files()[0]

    def require_column(self, memory: TextMemory) -> None:
        """Refuse tables whose first texts cannot be read, which one row of each tells.

        Args:
            memory: how much of it may be held at once.
        """
        tables = (path for path in self.files() if format_of(path).has_columns)
        for path in itertools.islice(tables, _MOST_LOOKED_AT):
            next(documents_of(path, self.column, memory), None)

    @property
    def read_as(self) -> str | None:
        """The format of a lone table that an earlier release read as prose; None of all else."""
        return _read_as(self.path)

    def left_out(self) -> list[Path]:
        """The files of a folder that say something about its texts and are none: those of a suffix of their own."""
        return self._files()[1]

    def _files(self) -> tuple[list[Path], list[Path]]:
        path = self.path
        _require_plain(path)
        if path.is_file():
            _require_prose(path)
            return [path], []
        if not path.is_dir():
            raise missing_text(self.domain, self.location)
        inside = sorted(
            entry
            for entry in path.rglob("*")
            if not any(part.startswith(".") for part in entry.relative_to(path).parts) and not entry.is_dir()
        )
        for entry in inside:
            _require_plain(entry)
        files = [entry for entry in inside if entry.is_file()]
        if not files:
            raise _empty(path)
        suffixes = {suffix_of(entry) for entry in files if not _ABOUT.fullmatch(entry.name)}
        left_out = [entry for entry in files if suffixes and suffix_of(entry) not in suffixes]
        texts = [entry for entry in files if not suffixes or suffix_of(entry) in suffixes]
        for entry in texts:
            _require_prose(entry)
        return texts, left_out


def documents_of(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The documents of one file that are not empty.

    Args:
        path: the file.
        column: where the text stands in tables.
        memory: how much of it may be held at once.
    """
    try:
        yield from (document for document in format_of(path).read(path, column, memory) if document.n_bytes)
    # The last two are of what gzip packed, and of what is cut off.
    except (OSError, zlib.error, EOFError) as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise no_text(path, f"a text of {column} is not UTF-8") from error


def _read_as(path: Path) -> str | None:
    """The format of a table that an earlier release read as prose; None where every release reads it alike."""
    file_format = format_of(path)
    is_as_before = not file_format.has_columns or path.suffix in (".jsonl", ".parquet")
    return None if is_as_before else file_format.suffixes[0].removeprefix(".")


def _require_prose(path: Path) -> None:
    """Refuse a file whose name says that its characters are no text to be measured on."""
    if suffix_of(path) in _REFUSED:
        raise no_text(path, *_REFUSED[suffix_of(path)])
    if not format_of(path).is_packed and path.suffix.lower() == GZIP:
        raise no_text(path, "it is packed, and such a table has to lie there unpacked", "unpack it")


def _require_plain(path: Path) -> None:
    try:
        kind = why_no_file(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if kind is not None:
        raise no_text(path, f"it is neither a file nor a folder but {kind}")


def _unreadable(path: Path, error: Exception) -> Unreadable:
    """A text that cannot be opened or parsed."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
    why = text[:200] or "no reason given"
    return Unreadable(f"the text {path} cannot be read ({why}): check the file and its permissions", path=path, why=why)


def _empty(path: Path) -> Unreadable:
    """A text without a document."""
    message = f"the text {path} has no documents: give a file, a folder or a column that contains text"
    return Unreadable(message, path=path, why="no documents")
