"""A stranger's folder, read within bounds: plain files alone, limited lines, JSON of which nothing is run."""

import gzip
import hashlib
import json
import math
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from neurothek.catalog.problems import Unreadable
from neurothek.catalog.spelling import is_text, one_line
from neurothek.catalog.tables.foreign import MOST_TOKENS

MOST_LINE_BYTES = 16 << 20
"""Uncompressed, of one JSON document: the longest that are published have a few megabytes."""

MOST_FILE_BYTES = 4 << 30
"""Uncompressed, of one file."""

MOST_UNPACKED = 200
"""Uncompressed bytes for each packed one, in a file that is longer than a line may be: blanks have a thousand."""

MOST_BLANK_LINES = 100_000
"""Of one file: they cost time and say nothing."""

MOST_NAMES = 1_000_000
"""Entries of one folder."""

MOST_SMALL, MOST_LONG = 500, 20_000
"""Characters of a name or a token, and of an explanation."""

_SHORT = 60
_DIGITS = re.compile(r"\d{1,9}", re.ASCII)

Record = dict[str, Any]


@dataclass(frozen=True)
class Strange:
    """A folder of a stranger. Whatever is wrong in it raises `Unreadable`; of what was read a fingerprint is kept."""

    root: Path
    kind: str
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def sha256(self) -> str:
        """Fingerprint of all that was read so far, uncompressed, with the names of the files."""
        return str(self.digest.hexdigest())

    def invalid(self, where: str, problem: str) -> Unreadable:
        """Something in it is not what such a catalog has."""
        place = f"{one_line(where)} " if where else ""
        return Unreadable(
            f"{self.root} cannot be imported as a catalog of {self.kind}: {place}{problem}",
            "nothing was imported",
            path=self.root,
            why=problem,
        )

    def has(self, *parts: str) -> bool:
        """Whether there is something of that name."""
        return os.path.lexists(self.root.joinpath(*parts))

    def names(self, *parts: str, folders: bool) -> list[str]:
        """Names of the plain files of a folder below the root, or of its folders, in the order of their numbers."""
        where = "/".join(parts)
        self._require_plain(*parts)
        names = []
        try:
            with os.scandir(self.root.joinpath(*parts)) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        raise self.invalid(f"{where}/{entry.name}".lstrip("/"), "is a link")
                    if entry.is_dir(follow_symlinks=False) == folders:
                        names.append(entry.name)
                    if len(names) > MOST_NAMES:
                        raise self.invalid(where, f"has more than {MOST_NAMES:,} entries")
        except OSError as error:
            raise self.invalid(where, f"cannot be read ({error.strerror or type(error).__name__})") from error
        return sorted(names, key=_by_number)

    def records(self, *parts: str) -> Iterator[tuple[str, Record]]:
        """Every line of a file of JSON lines, compressed or not, with where it stands; blank ones are left out."""
        name = "/".join(parts)
        self.digest.update(f"{name}\0".encode(errors="replace"))
        n_bytes, number, n_blank = 0, 0, 0
        with self._opened(name) as file:
            most_bytes = min(MOST_FILE_BYTES, max(MOST_LINE_BYTES, MOST_UNPACKED * os.fstat(file.fileno()).st_size))
            while True:
                number += 1
                with self._reading(name):
                    line = file.readline(MOST_LINE_BYTES + 1)
                if not line:
                    return
                n_bytes += len(line)
                if len(line) > MOST_LINE_BYTES:
                    raise self.invalid(f"{name}, line {number}", f"is longer than {MOST_LINE_BYTES:,} bytes")
                if n_bytes > most_bytes:
                    raise self.invalid(name, f"is longer than {most_bytes:,} bytes")
                self.digest.update(line)
                if line.strip():
                    yield f"{name}, line {number}", self._record(f"{name}, line {number}", line)
                    continue
                n_blank += 1
                if n_blank > MOST_BLANK_LINES:
                    raise self.invalid(name, f"has more than {MOST_BLANK_LINES:,} blank lines")

    def record(self, *parts: str) -> Record:
        """The only line of such a file."""
        lines = list(self._first(2, *parts))
        if len(lines) != 1:
            raise self.invalid("/".join(parts), "does not hold one JSON object")
        return lines[0]

    def take(self, name: str) -> None:
        """Judge a file that another library reads: it is a plain one, and its bytes are part of the fingerprint."""
        self.digest.update(f"{name}\0".encode(errors="replace"))
        with self._opened(name) as file, self._reading(name):
            while block := file.read(1 << 20):
                self.digest.update(block)

    def _first(self, n: int, *parts: str) -> Iterator[Record]:
        for number, (_, record) in enumerate(self.records(*parts), start=1):
            yield record
            if number == n:
                return

    def _require_plain(self, *parts: str) -> None:
        """No part of a path below the root is a link, which could lead anywhere."""
        path = self.root
        for number, part in enumerate(parts, start=1):
            path = path / part
            if path.is_symlink():
                raise self.invalid("/".join(parts[:number]), "is a link")

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        """A plain file below the root, unpacked where its name says that it is packed."""
        path = self.root / name
        self._require_plain(*name.split("/"))
        with self._reading(name):
            # Neither a link is followed, should one have come since, nor a pipe waited for.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise self.invalid(name, "is no plain file")
            if not name.endswith(".gz"):
                yield file
                return
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc] # reads bytes as any file does

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error) as error:
            raise self.invalid(name, "is damaged") from error
        except OSError as error:
            raise self.invalid(name, f"cannot be read ({error.strerror or 'damaged'})") from error

    def _record(self, where: str, line: bytes) -> Record:
        try:
            # What is no number is taken for missing: numpy's way of writing JSON is not everybody's.
            content = json.loads(line, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            raise self.invalid(where, "is no JSON") from error
        if not isinstance(content, dict):
            raise self.invalid(where, "is no JSON object")
        return content

    def part(self, where: str, record: Record, name: str) -> Record:
        """A field that is an object itself."""
        value = record.get(name)
        if not isinstance(value, dict):
            raise self.invalid(where, f"has no object {name}")
        return value

    def parts(self, where: str, record: Record, name: str, most: int) -> list[Record]:
        """A field that is a list of objects."""
        value = record.get(name)
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.invalid(where, f"has no list of objects {name}")
        if len(value) > most:
            raise self.invalid(where, f"has more than {most:,} {name}")
        return value

    def index(self, where: str, record: Record, name: str) -> int:
        """A field that is a number of a layer or neuron, as digits or as a number."""
        value = record.get(name)
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31 else value
        if not isinstance(text, str) or not _DIGITS.fullmatch(text):
            raise self.invalid(where, f"has {in_short(value)} as {name}, which is no index")
        return int(text)

    def number(self, where: str, record: Record, name: str) -> float | None:
        """A field that is a finite number; None where it is missing, or no number in a field of one."""
        value = record.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.invalid(where, f"has {in_short(value)} as {name}, which is no number")
        try:
            number = float(value)
        except OverflowError as error:
            raise self.invalid(where, f"has a number in {name} that is too large") from error
        return number if math.isfinite(number) else None

    def count(self, where: str, record: Record, name: str) -> int | None:
        """A field that is a number of things, which some have; None otherwise."""
        value = self.number(where, record, name)
        return int(value) if value is not None and 0 < value < 2**53 and value == int(value) else None

    def text(self, where: str, record: Record, name: str, most: int = MOST_SMALL) -> str | None:
        """A field of text; None where it is missing or blank."""
        value = record.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not is_text(value):
            raise self.invalid(where, f"has {in_short(value)} as {name}, which is no text")
        if len(value) > most:
            raise self.invalid(where, f"has more than {most:,} characters in {name}")
        return value if value.strip() else None

    def tokens(self, where: str, record: Record, name: str) -> tuple[str, ...]:
        """A field that is a list of texts of tokens; none where it is missing."""
        value = record.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) and is_text(one) for one in value):
            raise self.invalid(where, f"has no list of texts in {name}")
        if len(value) > MOST_TOKENS:
            raise self.invalid(where, f"has more than {MOST_TOKENS:,} tokens in {name}")
        if any(len(one) > MOST_SMALL for one in value):
            raise self.invalid(where, f"has a token of more than {MOST_SMALL:,} characters in {name}")
        return tuple(value)


def in_short(value: object) -> str:
    """A stranger's value in a sentence: short, and on one line."""
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a number of many digits"
    text = repr(value[:_SHORT] if isinstance(value, str) else value)
    return one_line(text if len(text) <= _SHORT else f"{text[:_SHORT]}...")


def _by_number(name: str) -> tuple[str, int, str]:
    """batch-2 before batch-10."""
    match = re.search(r"\d{1,9}", name, re.ASCII)
    return (name[: match.start()], int(match[0]), name) if match else (name, -1, name)
