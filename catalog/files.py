"""Files that are whole or not there, and what may lie in the place of one."""

import hashlib
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """A hidden name beside `path` that no other process has, on any machine; what lies there at the end is deleted."""
    hidden = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield hidden
    finally:
        hidden.unlink(missing_ok=True)


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A hidden name to write to, which becomes `path` once all is written; a failed write leaves nothing."""
    with temporary(path) as hidden:
        yield hidden
        hidden.replace(path)


_BLOCK_BYTES = 1 << 22


def sha256_of(path: Path) -> str:
    """Fingerprint of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


_NO_FILES = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
"""What would be waited for, or read, without end."""


def why_no_file(path: Path) -> str | None:
    """In words, what lies at a path, links followed, if it is neither a file nor a folder nor nothing."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    return next((words for is_kind, words in _NO_FILES if is_kind(mode)), None)
