"""Why a warehouse cannot be used, each in one sentence: what was asked, what was found, what to do."""

from pathlib import Path

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Unavailable, Unreadable


def missing_warehouse(path: Path) -> Unavailable:
    """There is no file at the path."""
    return Unavailable(
        f"there is no warehouse at {path}",
        f"build one with `{command_line('demo')}` or `{command_line('ingest', 'MODEL')}`",
        what="warehouse",
        name=path,
    )


def invalid_warehouse(path: Path, found: str) -> Unreadable:
    """The file is something else."""
    hint = "name another file with --warehouse"
    return Unreadable(f"{path} cannot be used as a warehouse: {found}", hint, path=path, why=found)


def unwritable_warehouse(path: Path, found: str) -> Unreadable:
    """The disk refuses to take the file, or the lock beside it."""
    hint = "choose another place with --warehouse"
    return Unreadable(f"{path} could not be written ({found})", hint, path=path, why=found)
