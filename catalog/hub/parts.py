"""The files of one catalog, read part by part: each part is fetched once, and kept in the cache folder.

Where the parts end is said in the manifest, and is no more than a hint: whatever it says, the same bytes are read.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import threading
import time
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from neurothek.catalog.files import written
from neurothek.catalog.hub.published import invalid_catalog
from neurothek.catalog.store.connections import Served

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from neurothek.catalog.hub.addresses import Address
    from neurothek.catalog.hub.origins import Origin
    from neurothek.catalog.hub.published import Published

_HELD_BYTES = 64 << 20
"""Of parts that were read last, in memory."""

_UNUSED_SECONDS = 30 * 24 * 3600
"""What nobody opened for so long is deleted when another catalog is opened."""


Source = Served
"""Bytes of the files of a catalog."""


def cache_of(address: Address, digest: str) -> Path:
    """The folder that keeps what was read of a catalog, as it is now; those that nobody used for long go."""
    root = user_cache_path("neurothek", appauthor=False) / "catalogs"
    folder = root / hashlib.sha256(f"{address}\0{digest}".encode()).hexdigest()[:32]
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        folder.touch()
        for other in root.iterdir():
            if other.stat().st_mtime < time.time() - _UNUSED_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
    return folder


class Parts:
    """Parts of files that are fetched when they are first read; threads may read at the same time."""

    def __init__(self, address: Address, origin: Origin, published: Published, folder: Path | None) -> None:
        """Read from an origin, and keep what was read in a folder, if there is one."""
        self._address, self._origin, self._published, self._folder = address, origin, published, folder
        self._held: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._held_bytes = 0
        self._guard = threading.Lock()
        self._locks: dict[tuple[str, int], threading.Lock] = {}
        self._judged: set[str] = set()

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` to `end` of a file that the manifest names."""
        file = self._published.files.get(path)
        if file is None or not 0 <= start <= end <= file.n_bytes:
            raise invalid_catalog(self._address, f"bytes {start:,} to {end:,} of {path} are asked for, which it lacks")
        if start == end:
            return b""
        if self._folder is None:
            self._judge(path)
            return self._fetched(path, start, end)
        first = bisect_right(file.ends, start)
        numbers = range(first, bisect_left(file.ends, end) + 1)
        content = b"".join(self._parts(path, numbers, file.ends))
        begin = file.ends[first - 1] if first else 0
        return content[start - begin : end - begin]

    def _parts(self, path: str, numbers: Sequence[int], ends: tuple[int, ...]) -> Iterator[bytes]:
        with contextlib.ExitStack() as held:
            # In order, so that no two threads wait for each other.
            for number in numbers:
                held.enter_context(self._lock(path, number))
            parts = {number: self._cached(path, number, ends) for number in numbers}
            if None in parts.values() and self._judge(path):
                # What was kept before may be of another file than what comes now.
                parts = {number: self._cached(path, number, ends) for number in numbers}
            for missing in _runs([number for number in numbers if parts[number] is None]):
                begin = ends[missing[0] - 1] if missing[0] else 0
                content = self._fetched(path, begin, ends[missing[-1]])
                for number in missing:
                    part_begin = ends[number - 1] if number else 0
                    parts[number] = content[part_begin - begin : ends[number] - begin]
                    self._keep(path, number, parts[number] or b"")
            for number in numbers:
                yield parts[number] or b""

    def _lock(self, path: str, number: int) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault((path, number), threading.Lock())

    def _fetched(self, path: str, start: int, end: int) -> bytes:
        content = self._origin.read(path, start, end)
        if len(content) != end - start:
            raise invalid_catalog(self._address, f"its {path} is not as long as its manifest says")
        return content

    def _judge(self, path: str) -> bool:
        """Before a file is first read here: that it is as long as it should be, and still the one that was cached."""
        with self._guard:
            is_known = path in self._judged
        if is_known:
            return False
        size, tag = self._origin.tag(path)
        if size is not None and size != self._published.files[path].n_bytes:
            raise invalid_catalog(self._address, f"its {path} is not as long as its manifest says")
        if self._folder is not None:
            self._forget_another(path, tag)
        with self._guard:
            self._judged.add(path)
        return True

    def _forget_another(self, path: str, tag: str) -> None:
        place = self._place(path)
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            noted = place / "tag"
            if not noted.is_file() or noted.read_text("utf-8") != tag:
                for part in place.iterdir():
                    part.unlink(missing_ok=True)
                self._let_go(path)
                with written(noted) as hidden:
                    hidden.write_text(tag, "utf-8")

    def _place(self, path: str) -> Path:
        assert self._folder is not None
        return self._folder / hashlib.sha256(path.encode()).hexdigest()[:16]

    def _cached(self, path: str, number: int, ends: tuple[int, ...]) -> bytes | None:
        with self._guard:
            content = self._held.get((path, number))
            if content is not None:
                self._held.move_to_end((path, number))
                return content
        try:
            content = (self._place(path) / str(number)).read_bytes()
        except OSError:
            return None
        if len(content) != ends[number] - (ends[number - 1] if number else 0):
            return None
        self._hold(path, number, content)
        return content

    def _keep(self, path: str, number: int, content: bytes) -> None:
        self._hold(path, number, content)
        with contextlib.suppress(OSError), written(self._place(path) / str(number)) as hidden:
            hidden.write_bytes(content)

    def _let_go(self, path: str) -> None:
        with self._guard:
            for key in [key for key in self._held if key[0] == path]:
                self._held_bytes -= len(self._held.pop(key))

    def _hold(self, path: str, number: int, content: bytes) -> None:
        with self._guard:
            if (path, number) not in self._held:
                self._held_bytes += len(content)
            self._held[path, number] = content
            while self._held_bytes > _HELD_BYTES and len(self._held) > 1:
                _, former = self._held.popitem(last=False)
                self._held_bytes -= len(former)


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Numbers that follow each other, together."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run
