"""Files that many tests begin with: made once a process and copied after that."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_FOLDER = tempfile.TemporaryDirectory(prefix="neurothek-tests-")


def copy_of(name: str, make: Callable[[Path], None], path: Path) -> None:
    """Put at `path` what `make` makes; `name` says what that is, once for all tests."""
    template = Path(_FOLDER.name) / f"{name}.duckdb"
    if not template.exists():
        unfinished = template.with_name(f"unfinished-{name}.duckdb")
        unfinished.unlink(missing_ok=True)
        make(unfinished)
        unfinished.rename(template)
    shutil.copyfile(template, path)
