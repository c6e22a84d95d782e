"""Files that are whole or not there."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """A hidden name beside `path` that no other process has; what lies there at the end is deleted."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield hidden
    finally:
        hidden.unlink(missing_ok=True)


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A hidden name to write to, which becomes `path` once all is written; of what fails nothing stays.

    Raises:
        OSError: the disk refuses.
    """
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
