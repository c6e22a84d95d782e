"""A text file is one document, whatever its suffix; little of it is held at once."""

from collections.abc import Iterator
from pathlib import Path

from neurothek.ingest.corpora.sources.document import Document, FileFormat, text_blocks
from neurothek.ingest.corpora.text_memory import TextMemory


def read_plain(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The text, in blocks."""
    # A short file has one block.
    first = [block for block, _ in zip(text_blocks(path), range(2), strict=False)]
    if len(first) < 2:
        yield Document(sum(len(block.encode()) for block in first), first)
    else:
        # Read twice: what comes before a text's hash is its length.
        yield Document(sum(len(block.encode()) for block in text_blocks(path)), text_blocks(path))


FORMAT = FileFormat(("",), read_plain)
