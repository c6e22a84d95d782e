"""What stands at the path of a warehouse: only a DuckDB file is opened, or a new one made where nothing stands."""

from pathlib import Path

from neurothek.catalog.spelling import is_text
from neurothek.catalog.store.errors import invalid_warehouse
from neurothek.catalog.store.leases import has_leases, read_beside

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
        raise invalid_warehouse(path, "DuckDB takes what follows a question mark in a path for no part of it")
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
