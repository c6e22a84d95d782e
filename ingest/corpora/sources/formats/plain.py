"""A text file is one document, whatever its suffix; little of it is held at once."""

import codecs
from collections.abc import Iterator
from pathlib import Path

from ingest.corpora.errors import SourceNotText
from ingest.corpora.sources.document import BLOCK_BYTES, Document, FileFormat
from ingest.corpora.text_memory import TextMemory

SUFFIX = ""
"""Of files that no other format reads."""


def read_plain(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The text, in blocks.

    Raises:
        SourceNotText: it is binary, or not UTF-8.
    """
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


FORMAT = FileFormat(SUFFIX, read_plain)
