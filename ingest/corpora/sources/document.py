"""One text of a source, and what it is to read files of one kind."""

import codecs
import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from neurothek.ingest.corpora.errors import no_text
from neurothek.ingest.corpora.text_memory import TextMemory

BLOCK_BYTES = 1 << 20
"""What is read of a file at once."""

GZIP = ".gz"


@dataclass(frozen=True)
class Document:
    """One text."""

    n_bytes: int  # its length in UTF-8
    blocks: Iterable[str]  # its characters in order, to be read once

    @staticmethod
    def of(text: str) -> "Document":
        """A text that is held whole."""
        return Document(len(text.encode()), (text,))


ReadFile = Callable[[Path, str, TextMemory], Iterator[Document]]
"""File, column, and how much may be held at once -> its documents in their order."""


@dataclass(frozen=True)
class FileFormat:
    """How files of one kind are read."""

    suffixes: tuple[str, ...]  # what their names end with, in lower case; upper case is the same
    read: ReadFile  # what reads one; an error of the system, of Arrow or of UTF-8 gets its sentence where it is called
    has_columns: bool = False  # whether a column is chosen by PATH:COLUMN
    is_packed: bool = True  # whether one that is packed by gzip is read, too


def suffix_of(path: Path) -> str:
    """The suffix of a name in lower case, of what is packed where it is packed by gzip."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == GZIP else suffix


def byte_stream(path: Path) -> io.BufferedIOBase:
    """The bytes of a file, unpacked as they are read."""
    return gzip.open(path, "rb") if path.suffix.lower() == GZIP else path.open("rb")


def text_blocks(path: Path) -> Iterator[str]:
    """The characters of a file without a byte order mark, line ends as line feeds, whichever system wrote them."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    place, held, is_last = 0, "", False
    with byte_stream(path) as file:
        while not is_last:
            raw = file.read(BLOCK_BYTES)
            is_last = not raw
            if b"\0" in raw:
                raise no_text(path, "it is a binary file")
            skipped = len(codecs.BOM_UTF8) if not place and raw.startswith(codecs.BOM_UTF8) else 0
            unfinished = len(decoder.getstate()[0])
            try:
                text = held + decoder.decode(raw[skipped:], final=is_last)
            except UnicodeDecodeError as error:
                raise no_text(path, f"byte {place + skipped - unfinished + error.start} is not UTF-8") from error
            place += len(raw)
            # The line feed that belongs to it may begin the next block.
            held = "\r" if text.endswith("\r") and not is_last else ""
            text = text.removesuffix(held).replace("\r\n", "\n")
            if text:
                yield text
