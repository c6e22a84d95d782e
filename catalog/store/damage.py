"""A file that is no warehouse or not what was written: refused before it is opened, or as DuckDB complains of it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Damaged, LimitExceeded, Unavailable, Unreadable, memory_refused
from neurothek.catalog.spelling import is_text
from neurothek.catalog.store.leases import has_leases, has_other_leases, read_beside

_OTHER_CONTENT = re.compile(r"computed checksum (\d+) does not match stored checksum \d+ in block at location (\d+)")
_LOG = re.compile(r"while replaying WAL|Corrupt WAL|This WAL was created for")
_UNREADABLE = re.compile(r"Corrupt database file|Could not read (enough bytes )?from file|Could not read file")
_PARQUET = re.compile(
    r"Invalid Input Error: Failed to read file \"catalog:|(Invalid Error: )?(Parquet file is likely corrupted|"
    r"Payload value bigger than allowed|TProtocolException|don't know what type|Variable-length int over)"
)
"""How complaints of a published file begin, of which most are of libraries that DuckDB reads with: words of a query,
which may be any, come later in those of a query."""

_SPILLED = "duckdb_temp"
"""Begins the names of files that DuckDB puts aside while it works."""

_OF_FILES = (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException, duckdb.InternalException)
"""Complaints that hold no words of a query, which may be any."""

_TWICE = "More than one row returned by a subquery"
"""What DuckDB says where our statements ask for the one row of a key; people's queries are answered for elsewhere."""


def damaged_warehouse(path: Path, problem: str) -> Damaged:
    """The file, or its log, is not what was written."""
    return Damaged(
        f"{path} is damaged: {problem}",
        "restore a copy of it, import an export into a new file with"
        f" `{command_line('import', 'FOLDER', '--warehouse', 'FILE')}`, or measure again into a new file",
        path=path,
        why=problem,
    )


def is_damage(error: BaseException) -> bool:
    """Whether DuckDB complains that a file is not what was written, or could not be read."""
    # Of a block that is not as its checksum says, DuckDB complains by the base of all its errors; what it says while
    # Arrow fetches rows, Arrow passes on as an OSError without a number.
    from_arrow = isinstance(error, OSError) and error.errno is None
    text = str(error)
    if (isinstance(error, duckdb.Error) or from_arrow) and _PARQUET.match(text):
        return True
    if type(error) is not duckdb.Error and not isinstance(error, _OF_FILES) and not from_arrow:
        return False
    return bool(_LOG.search(text) or (_UNREADABLE.search(text) and _SPILLED not in text))


def log_damaged(path: Path) -> Damaged:
    """The sentence for a log that is not what was written."""
    return damaged_warehouse(path, f"its log {path.name}.wal is corrupt")


def damaged(path: Path, error: BaseException) -> Damaged | LimitExceeded:
    """The sentence for what DuckDB says of the file at the path; for want of memory nothing is wrong with the file."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return memory_refused(error)
    text = str(error)
    block = _OTHER_CONTENT.search(text)
    if block:
        return damaged_warehouse(path, f"the content at byte {int(block[2]):,} is corrupt")
    if _LOG.search(text):
        return log_damaged(path)
    if "enough bytes" in text:
        return damaged_warehouse(path, f"it is truncated after {path.stat().st_size:,} bytes")
    return damaged_warehouse(path, re.sub(r"^[\w ]+ Error: ", "", text.splitlines()[0]))


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Raise DuckDB's complaints in the block, at whatever depth, as damage of the file at the path.

    Complaints about other files that are open are left alone.
    """
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise memory_refused(error) from error
    except (duckdb.Error, OSError) as error:
        if isinstance(error, duckdb.InvalidInputException) and _TWICE in str(error):
            raise damaged_warehouse(path, "it contains duplicate rows") from error
        if not is_damage(error) or (has_other_leases(path) and not _is_about(path, str(error))):
            raise
        raise damaged(path, error) from error


def _is_about(path: Path, text: str) -> bool:
    """Whether a complaint is about this file; one about a block names its place and its checksum alone."""
    block = _OTHER_CONTENT.search(text)
    if block is None:
        return str(path) in text
    # Here, as it takes a tenth of a second to import.
    from neurothek.catalog.store.blocks import is_computed_at  # noqa: PLC0415

    with read_beside(path) as file:
        return is_computed_at(file, int(block[2]), int(block[1]))


# duckdb/src/storage/write_ahead_log.cpp: the kind of entry and the version, then, from version 2 on, sixteen bytes that
# name the file, and how often it was written as a whole. Numbers are LEB128: seven bits a byte, the last below 128.
_BYTE = rb"(?:[\0-\x7f]|[\x80-\xff]\x01)"
_HEAD = re.compile(rb"d\0be\0[\0-\x7f](?:f\0\x10" + _BYTE + rb"{16}g\0[\x80-\xff]{0,9}[\0-\x7f])?\xff\xff", re.DOTALL)

_LONGEST = 55
"""Bytes of the longest head; a log that is no longer holds no transaction."""


def log_of(path: Path) -> Path:
    """Where DuckDB keeps the log of the file at the path."""
    return path.with_name(path.name + ".wal")


def require_log_head(path: Path) -> None:
    """Refuse the file at the path if the log beside it does not begin as DuckDB begins one."""
    try:
        with log_of(path).open("rb") as file:
            head = file.read(_LONGEST + 1)
    except OSError:
        # There is none, or DuckDB says why it cannot be read.
        return
    if len(head) > _LONGEST and not _HEAD.match(head):
        raise log_damaged(path)


def missing_warehouse(path: Path) -> Unavailable:
    """There is no file at the path."""
    return Unavailable(
        f"there is no warehouse at {path}",
        f"build one with `{command_line('demo')}` or `{command_line('ingest', 'MODEL')}`",
        what="warehouse",
        name=path,
    )


def invalid_warehouse(path: Path, problem: str) -> Unreadable:
    """The file is something else."""
    hint = "name another file with --warehouse"
    return Unreadable(f"{path} cannot be used as a warehouse: {problem}", hint, path=path, why=problem)


def unwritable_warehouse(path: Path, problem: str) -> Unreadable:
    """The disk refuses to take the file, or the lock beside it."""
    hint = "choose another place with --warehouse"
    return Unreadable(f"{path} could not be written ({problem})", hint, path=path, why=problem)


# A checksum of eight bytes goes before it.
_MAGIC, _MAGIC_END = b"DUCK", 12


def followed(path: Path) -> Path:
    """The file that a path leads to."""
    try:
        target = path.resolve()
    except (OSError, RuntimeError) as error:  # the latter is what Python before 3.13 says of a circle
        raise invalid_warehouse(path, "it is a link that leads back to itself") from error
    if target.is_symlink():
        raise invalid_warehouse(path, "it is a link that leads back to itself")
    return target


def refuse_file(path: Path) -> None:
    """Refuse a path at which no warehouse stands or may be made."""
    if not is_text(str(path)):
        raise invalid_warehouse(path, "its name is not UTF-8, which DuckDB requires")
    if "?" in str(path):
        # It seeks the log of a/x?y.duckdb at a/x.wal?y.duckdb.
        raise invalid_warehouse(path, "DuckDB ignores what follows a question mark in a path")
    if path.stem.casefold() == "store":
        raise invalid_warehouse(path, "a file called store would have the same name as the schema store")
    if path.is_dir():
        raise invalid_warehouse(path, "it is a folder")
    # A pipe would be waited for; it is not read.
    if path.exists() and (path.is_fifo() or not _is_duckdb(path)):
        raise invalid_warehouse(path, "it is not a DuckDB file")


def _is_duckdb(path: Path) -> bool:
    """Whether the file begins as DuckDB's do; one that does not is never opened, nor a lock put beside it."""
    if has_leases(path):
        return True  # who opened it has looked
    try:
        with read_beside(path) as file:
            return file.read(_MAGIC_END).endswith(_MAGIC)
    except OSError as error:
        raise invalid_warehouse(path, error.strerror or str(error)) from error
