"""Refuses what lies in place of a model's file and would be waited for, or read, without end."""

from pathlib import Path

from neurothek.catalog.files import why_no_file
from neurothek.catalog.problems import Unreadable


def require_plain(folder: Path) -> None:
    """Check that a model's folder directly holds files and folders alone; nothing is opened.

    Links are followed; one that leads nowhere is not a file, which whoever needs the file says.
    """
    for path in sorted(folder.iterdir()):
        try:
            kind = why_no_file(path)
        except OSError as error:
            raise _unfit(path, f"cannot be read ({error.strerror})") from error
        if kind is not None:
            raise _unfit(path, f"is {kind}, but a model is read from files only")


def _unfit(path: Path, problem: str) -> Unreadable:
    """Something in a model's folder that is not a readable file."""
    return Unreadable(f"{path} {problem}", "put the original file there, or remove it", path=path, why=problem)
