"""The files of a catalog as DuckDB opens them: its only file system, which knows the tables and views and nothing else.

What it is asked for and does not know is not there.
"""

from __future__ import annotations

import datetime
import io
import threading
from typing import TYPE_CHECKING, Any

import fsspec

from neurothek.catalog.problems import NeurothekError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neurothek.catalog.hub.parts import Source

PROTOCOL = "catalog"
"""How addresses of its files begin."""

_NEVER = datetime.datetime(2020, 1, 1)


class Reads:
    """A source that remembers its first failure: DuckDB passes on the text of it at best."""

    def __init__(self, source: Source) -> None:
        """Read from a source."""
        self._source = source
        self.failure: NeurothekError | None = None

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` to `end` of a file."""
        try:
            return self._source.read(path, start, end)
        except NeurothekError as error:
            self.failure = self.failure or error
            raise


class CatalogFiles(fsspec.AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Read-only files by the names of relations, such as `catalog://postings`."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, source: Source, files: Mapping[str, tuple[str, int]], blanks: Mapping[str, bytes]) -> None:
        """Serve files, and where a relation has none, a blank one.

        Args:
            source: what reads them.
            files: relation -> path and size of its file.
            blanks: relation -> a file without rows.
        """
        super().__init__()
        self._source, self._files, self._blanks = source, files, blanks

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> io.RawIOBase:
        """A file to read."""
        if mode != "rb":
            raise PermissionError(path)
        name = _name_of(path)
        if name in self._files:
            return _File(self._source, *self._files[name])
        if name in self._blanks:
            return _File(_Blanks(self._blanks), name, len(self._blanks[name]))
        raise FileNotFoundError(path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, size and kind."""
        name = _name_of(path)
        if name not in self._files and name not in self._blanks:
            raise FileNotFoundError(path)
        size = self._files[name][1] if name in self._files else len(self._blanks[name])
        return {"name": path, "size": size, "type": "file"}

    def glob(self, path: str, **_: Any) -> list[str]:
        """The file of that very name."""
        return [path] if self.exists(path) else []

    def exists(self, path: str, **_: Any) -> bool:
        """Whether there is such a file."""
        return _name_of(path) in self._files or _name_of(path) in self._blanks

    def isdir(self, path: str) -> bool:
        """There are no folders."""
        return False

    def modified(self, path: str) -> datetime.datetime:
        """When it changed: not while it is open."""
        return _NEVER


class _Blanks:
    """Files that are in memory, as a source."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def read(self, path: str, start: int, end: int) -> bytes:
        return self._files[path][start:end]


class _File(io.RawIOBase):
    """A file that is read at any place, by several threads at once: each has its own place in it.

    DuckDB shares a file among its threads, and asks for bytes by seeking and then reading: one place for all would be
    another thread's by the time of the second call.
    """

    def __init__(self, source: Source, path: str, size: int) -> None:
        super().__init__()
        self._source, self._path, self._size = source, path, size
        self._places = threading.local()

    def read(self, size: int = -1) -> bytes:
        place = self.tell()
        end = self._size if size < 0 else min(self._size, place + size)
        content = self._source.read(self._path, place, end) if end > place else b""
        self._places.place = place + len(content)
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        self._places.place = offset + (0, self.tell(), self._size)[whence]
        return self.tell()

    def tell(self) -> int:
        place: int = getattr(self._places, "place", 0)
        return place

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def _name_of(path: str) -> str:
    return path.removeprefix(f"{PROTOCOL}://")
