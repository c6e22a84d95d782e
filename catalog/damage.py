"""A file that is not what was written: DuckDB's complaints about it, wherever they are raised, as one sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from catalog.advice import command_line
from catalog.errors import NeurothekError
from catalog.instances import has_other_leases, read_beside

_OTHER_CONTENT = re.compile(r"computed checksum (\d+) does not match stored checksum \d+ in block at location (\d+)")
_LOG = re.compile(r"while replaying WAL|Corrupt WAL|This WAL was created for")
_UNREADABLE = re.compile(r"Corrupt database file|Could not read (enough bytes )?from file|Could not read file")
_SPILLED = "duckdb_temp"
"""Begins the names of files that DuckDB puts aside while it works."""

_OF_FILES = (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException, duckdb.InternalException)
"""Complaints that hold no words of a query, which may be any."""


class WarehouseDamaged(NeurothekError):
    """The file, or its log, is not what was written."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"{path} is damaged: {found}; restore a copy of it, read an export into a new file with"
            f" `{command_line('import', 'FOLDER', '--warehouse', 'FILE')}`, or measure again into one"
        )


def is_damage(error: BaseException) -> bool:
    """Whether DuckDB complains that a file is not what was written, or could not be read."""
    # Of a block that is not as its checksum says, DuckDB complains by the base of all its errors; what it says while
    # Arrow fetches rows, Arrow passes on as an OSError without a number.
    from_arrow = isinstance(error, OSError) and error.errno is None
    if type(error) is not duckdb.Error and not isinstance(error, _OF_FILES) and not from_arrow:
        return False
    text = str(error)
    return bool(_LOG.search(text) or (_UNREADABLE.search(text) and _SPILLED not in text))


def log_damaged(path: Path) -> WarehouseDamaged:
    """The sentence for a log that is not what was written."""
    return WarehouseDamaged(path, f"its log {path.name}.wal is not what was written")


def damaged(path: Path, error: BaseException) -> WarehouseDamaged:
    """The sentence for what DuckDB says of the file at the path."""
    text = str(error)
    block = _OTHER_CONTENT.search(text)
    if block:
        return WarehouseDamaged(path, f"what it holds at byte {int(block[2]):,} is not what was written")
    if _LOG.search(text):
        return log_damaged(path)
    if "enough bytes" in text:
        return WarehouseDamaged(path, f"it breaks off after {path.stat().st_size:,} bytes")
    return WarehouseDamaged(path, re.sub(r"^[\w ]+ Error: ", "", text.splitlines()[0]))


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Raise what DuckDB complains of in the block, at whatever depth, as damage of the file at the path.

    Raises:
        WarehouseDamaged: the file is not what was written. Complaints about other files that are open are left alone.
    """
    try:
        yield
    except (duckdb.Error, OSError) as error:
        if not is_damage(error) or (has_other_leases(path) and not _is_about(path, str(error))):
            raise
        raise damaged(path, error) from error


def _is_about(path: Path, text: str) -> bool:
    """Whether a complaint is about this file; one about a block names its place and its checksum alone."""
    block = _OTHER_CONTENT.search(text)
    if block is None:
        return str(path) in text
    # Here, as it takes a tenth of a second to import.
    from catalog.checksums import is_computed_at  # noqa: PLC0415

    with read_beside(path) as file:
        return is_computed_at(file, int(block[2]), int(block[1]))
