"""Refuses what lies in place of a model's file and would be waited for, or read, without end."""

from pathlib import Path

from neurothek.catalog.files import why_no_file
from neurothek.ingest.models.errors import ModelFileUnfit


def require_plain(folder: Path) -> None:
    """Check that a model's folder directly holds files and folders alone; nothing is opened.

    Links are followed; one that leads nowhere is not a file, which whoever needs the file says.

    Raises:
        ModelFileUnfit: a named pipe, a socket or a device lies there, or a circle of links.
    """
    for path in sorted(folder.iterdir()):
        try:
            found = why_no_file(path)
        except OSError as error:
            raise ModelFileUnfit(path, f"cannot be read ({error.strerror})") from error
        if found is not None:
            raise ModelFileUnfit(path, f"is {found}, but a model is read from files only")
