"""One text of a source, and what it is to read files of one kind."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ingest.corpora.text_memory import TextMemory

BLOCK_BYTES = 1 << 20
"""What is read of a file at once."""


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


ReadFile = Callable[[Path, str, TextMemory], Iterator[Document]]
"""File, column, and how much may be held at once -> its documents in their order."""


@dataclass(frozen=True)
class FileFormat:
    """How files of one kind are read.

    Attributes:
        suffix: what their names end with.
        read: what reads one; an error of the system, of Arrow or of UTF-8 gets its sentence where it is called.
        has_columns: whether a column is chosen by PATH:COLUMN.
    """

    suffix: str
    read: ReadFile
    has_columns: bool = False
