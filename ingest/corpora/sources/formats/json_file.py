"""A JSON object is a document: of a list that the file holds, of several one after the other, or the only one."""

import re
from collections.abc import Iterator
from pathlib import Path

from neurothek.ingest.corpora.errors import no_text, text_too_long
from neurothek.ingest.corpora.sources.document import Document, FileFormat, text_blocks
from neurothek.ingest.corpora.sources.formats.jsonl import DECODER, texts_of
from neurothek.ingest.corpora.text_memory import TextMemory

_CUT_OFF = object()
_BLANK = re.compile(r"[ \t\n\r]*")


def read_json(path: Path, column: str, memory: TextMemory) -> Iterator[Document]:
    """The texts of a column, object by object."""
    return texts_of(_objects(path, memory), path, column)


def _objects(path: Path, memory: TextMemory) -> Iterator[tuple[str, object]]:
    text = _Text(path, memory)
    is_list, number = text.skips("["), 0
    while text.ahead() not in ("", "]"):
        number += 1
        yield f"object {number}", text.value(f"object {number}")
        if is_list and not text.skips(","):
            break
    if (is_list and not text.skips("]")) or text.ahead():
        raise no_text(path, f"it is not JSON after object {number}")


class _Text:
    """The characters of a file, of which no more are held than one value needs."""

    def __init__(self, path: Path, memory: TextMemory) -> None:
        self._path, self._memory = path, memory
        self._blocks = text_blocks(path)
        self._held, self._at = "", 0

    def ahead(self) -> str:
        """The next character that is not blank; nothing at the end."""
        while True:
            blank = _BLANK.match(self._held, self._at)
            self._at = blank.end() if blank else self._at
            if self._at < len(self._held) or not self._more():
                return self._held[self._at : self._at + 1]

    def skips(self, character: str) -> bool:
        """Go beyond a character, if it is what comes next."""
        is_next = self.ahead() == character
        self._at += is_next
        return is_next

    def value(self, place: str) -> object:
        """Read what comes next, up to its end."""
        longest = self._memory.longest_row
        while True:
            value, end = self._decoded(place)
            if end - self._at > longest:
                raise text_too_long(self._path, place, longest, self._memory.memory_bytes)
            if value is not _CUT_OFF:
                self._at = end
                return value
            if not self._more():
                raise no_text(self._path, f"{place} is not JSON")

    def _decoded(self, place: str) -> tuple[object, int]:
        """The value that begins here, and where it ends; of one that goes on in the next block, all that is held."""
        try:
            return DECODER.raw_decode(self._held, self._at)
        except ValueError:
            return _CUT_OFF, len(self._held)
        except RecursionError as error:
            raise no_text(self._path, f"{place} is nested too deeply") from error

    def _more(self) -> bool:
        """Read as much as is held and not used yet, so that a long value is not tried again and again."""
        parts = [self._held[self._at :]]
        n_missing = max(1, len(parts[0]))
        while n_missing > 0 and (block := next(self._blocks, "")):
            parts.append(block)
            n_missing -= len(block)
        self._held, self._at = "".join(parts), 0
        return len(parts) > 1


FORMAT = FileFormat((".json",), read_json, has_columns=True)
