"""Where text comes from: built-in domains, files, folders, columns of jsonl and Parquet files, datasets of the hub."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from catalog.regular_files import why_no_file
from ingest.corpora.errors import (
    SourceEmpty,
    SourceMisnamed,
    SourceMissing,
    SourceNotText,
    SourceUnreadable,
    TextTooLong,
)
from ingest.corpora.sources import builtin
from ingest.corpora.sources.builtin import Split
from ingest.corpora.sources.documents import TABLES, Document, documents_of
from ingest.corpora.sources.hub_datasets import HubDataset
from ingest.corpora.text_memory import UNBOUNDED, TextMemory

BUILTIN = "builtin"
DEFAULT_COLUMN = "text"
POOLED = "all"
"""No domain's name: rows of the warehouse that pool the domains have it."""
LONGEST_NAME = 200
NAME = re.compile(rf"[A-Za-z0-9._@+-]{{1,{LONGEST_NAME}}}")


@dataclass(frozen=True)
class Source:
    """One domain of a corpus: its name and where its text lies.

    A location is "builtin:code", a path, a path with ":column", or "hub:ORG/NAME" with what `HubDataset` reads.
    """

    domain: str
    location: str

    @property
    def builtin_domain(self) -> builtin.Domain | None:
        """Which built-in text this is, None for files."""
        return next((domain for domain in builtin.DOMAINS if self.location == f"{BUILTIN}:{domain}"), None)

    @property
    def hub_dataset(self) -> HubDataset | None:
        """Which dataset of the hub this is, None for files.

        Raises:
            DatasetMisnamed: it begins like one and goes on otherwise.
        """
        return HubDataset.parse(self.location)

    def pinned(self) -> "Source":
        """The same text wherever and whenever it is read again: an absolute path, or a commit of the hub.

        Raises:
            DatasetUnreachable, DatasetNotOnHub, DatasetBroken: the hub does not say which commit that is.
        """
        if self.builtin_domain is not None:
            return self
        dataset = self.hub_dataset
        return replace(self, location=dataset.pinned().location if dataset else str(Path(self.location).absolute()))

    @property
    def path(self) -> Path:
        """The file or folder, without a column."""
        return self._split()[0]

    @property
    def column(self) -> str:
        """The column of a jsonl or Parquet file that holds the text."""
        return self._split()[1]

    def _split(self) -> tuple[Path, str]:
        whole = Path(self.location)
        before, colon, column = self.location.rpartition(":")
        if colon and column and not whole.exists() and Path(before).suffix in TABLES:
            return Path(before), column
        return whole, DEFAULT_COLUMN


def parse_sources(specs: Sequence[str]) -> list[Source]:
    """Sources for "builtin" (three domains), "builtin:code", "NAME=PATH" and "NAME=hub:ORG/NAME".

    Raises:
        SourceMisnamed: a specification is not understood, or two domains have one name.
        SourceMissing: nothing lies at a path.
    """
    sources = [source for spec in specs for source in _parse(spec)]
    seen: set[str] = set()
    for source in sources:
        if source.domain in seen:
            raise SourceMisnamed(source.domain, "is given twice")
        seen.add(source.domain)
    return sources


def corpus_name(sources: Sequence[Source]) -> str:
    """What a corpus of these domains is called: `builtin` for the three built-in ones, else their names in order."""
    if {source.location for source in sources} == {f"{BUILTIN}:{domain}" for domain in builtin.DOMAINS}:
        return BUILTIN
    return "+".join(sorted(source.domain for source in sources))


def _parse(spec: str) -> Iterator[Source]:
    if spec == BUILTIN:
        yield from (Source(domain, f"{BUILTIN}:{domain}") for domain in builtin.DOMAINS)
        return
    name, equals, location = spec.partition("=")
    if not equals and Source(name, spec).builtin_domain is not None:
        yield Source(spec.partition(":")[2], spec)
        return
    if not equals or not location:
        raise SourceMisnamed(spec, "has no path")
    if not NAME.fullmatch(name):
        if len(name) > LONGEST_NAME:
            raise SourceMisnamed(
                f"{name[:40]}...", f"has a name of {len(name)} characters, and {LONGEST_NAME} are allowed"
            )
        raise SourceMisnamed(spec, "has a name with characters other than letters, digits and . _ @ + -")
    if name == BUILTIN:
        raise SourceMisnamed(spec, f"has the name {BUILTIN!r}, which stands for the text that comes with neurothek")
    if name == POOLED:
        raise SourceMisnamed(spec, f"has the name {POOLED!r}, which stands for all domains together")
    source = Source(name, location)
    if source.builtin_domain is None and source.hub_dataset is None and not source.path.exists():
        raise SourceMissing(name, location)
    yield source


def documents(source: Source, *, split: Split = "measure") -> Iterator[str]:
    """The documents of a source in their fixed order, each held whole; see `read`."""
    return ("".join(document.blocks) for document in read(source, split=split))


def read(source: Source, *, split: Split = "measure", memory: TextMemory = UNBOUNDED) -> Iterator[Document]:
    """The documents of a source in their fixed order; `split` concerns built-in text alone.

    Raises:
        SourceMissing, SourceEmpty: nothing lies there, or no document.
        SourceUnreadable, SourceNotText, ColumnUnknown, ColumnMissing, ...: see `documents_of`.
        TextTooLong: a row is longer than memory allows.
        DatasetUnreachable, DatasetsMissing, DatasetColumnUnknown, DatasetEmpty, DatasetBroken: likewise.
    """
    if source.builtin_domain is not None:
        yield from map(Document.of, builtin.documents(source.builtin_domain, split))
        return
    if source.hub_dataset is not None:
        yield from map(Document.of, _within(source.hub_dataset, memory))
        return
    is_empty = True
    for path in files(source):
        for document in documents_of(path, source.column, memory):
            is_empty = False
            yield document
    if is_empty:
        raise SourceEmpty(source.path)


def _within(dataset: HubDataset, memory: TextMemory) -> Iterator[str]:
    for text in dataset.documents():
        if len(text) > memory.longest_record:
            raise TextTooLong(dataset.location, "a row", memory.longest_record, memory.memory_bytes)
        yield text


def source_sha256(source: Source) -> str:
    """A hash of the bytes behind a source, known without reading them as text.

    Raises:
        SourceMissing, SourceUnreadable, SourceEmpty: nothing there, not readable, a folder without files.
        DatasetUnreachable, DatasetNotOnHub, DatasetBroken: the hub does not say which commit its text is.
    """
    if source.builtin_domain is not None:
        return builtin.library_sha256()
    if source.hub_dataset is not None:
        return source.hub_dataset.pinned().sha256
    digest = hashlib.sha256(source.column.encode())
    for path in files(source):
        name = path.relative_to(source.path).as_posix() if source.path.is_dir() else path.suffix
        try:
            with path.open("rb") as file:
                digest.update(os.fsencode(name) + b"\0" + hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise SourceUnreadable(path, error) from error
    return digest.hexdigest()


def files(source: Source) -> list[Path]:
    """The files of a source: itself, or everything in a folder that is not hidden, sorted by path.

    Raises:
        SourceMissing: nothing lies there.
        SourceNotText: a named pipe, a socket, a device or a circle of links lies there or in the folder.
        SourceUnreadable: the system does not say what lies there.
        SourceEmpty: a folder without files.
    """
    path = source.path
    _require_plain(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SourceMissing(source.domain, source.location)
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


def _require_plain(path: Path) -> None:
    try:
        found = why_no_file(path)
    except OSError as error:
        raise SourceUnreadable(path, error) from error
    if found is not None:
        raise SourceNotText(path, f"it is neither a file nor a folder but {found}")
