"""Files that are whole or not there."""

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
