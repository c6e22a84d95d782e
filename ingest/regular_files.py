"""Refuses what lies in place of a file and would be waited for, or read, without end."""

import stat
from pathlib import Path

from ingest.model_errors import ModelFileUnfit

KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def require_plain(folder: Path) -> None:
    """Check that a model's folder directly holds files and folders alone; nothing is opened.

    Links are followed; one that leads nowhere is no file, which whoever needs the file says.

    Raises:
        ModelFileUnfit: a named pipe, a socket or a device lies there, or a circle of links.
    """
    for path in sorted(folder.iterdir()):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ModelFileUnfit(path, f"cannot be read ({error.strerror})") from error
        for is_kind, words in KINDS:
            if is_kind(mode):
                raise ModelFileUnfit(path, f"is {words}, and a model is read from files alone")
