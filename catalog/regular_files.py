"""What lies in place of a file and would be waited for, or read, without end."""

import stat
from pathlib import Path

KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def why_no_file(path: Path) -> str | None:
    """In words, what lies at a path, links followed, if it is neither a file nor a folder nor nothing.

    Raises:
        OSError: the system does not say, as of a circle of links.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    return next((words for is_kind, words in KINDS if is_kind(mode)), None)
