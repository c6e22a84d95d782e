"""The head of the log that DuckDB writes beside a file, which alone of the log has no checksum.

What it cannot read there DuckDB takes for a transaction that did not finish, and leaves out all that the log holds.
"""

import re
from pathlib import Path

from catalog.damage import log_damaged

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
    """Refuse the file at the path if the log beside it does not begin as DuckDB begins one.

    Raises:
        WarehouseDamaged: the log's head is not what was written.
    """
    try:
        with log_of(path).open("rb") as file:
            head = file.read(_LONGEST + 1)
    except OSError:
        # There is none, or DuckDB says why it cannot be read.
        return
    if len(head) > _LONGEST and not _HEAD.match(head):
        raise log_damaged(path)
