"""Files that many tests begin with: made once for all processes of one run and copied after that."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

FOLDER = "NEUROTHEK_TEST_TEMPLATES"
"""The variable that names where they lie."""


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The folder that `make` fills, once for all tests; nobody writes to it."""
    folder = Path(os.environ[FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / name
    with FileLock(made.with_suffix(".lock")):
        if not made.exists():
            unfinished = made.with_name(f"unfinished-{name}")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(made)
    return made


def copy_of(name: str, make: Callable[[Path], None], path: Path) -> None:
    """Put at `path` what `make` makes; `name` says what that is, once for all tests."""
    folder = Path(os.environ[FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    template = folder / f"{name}.duckdb"
    with FileLock(template.with_suffix(".lock")):
        if not template.exists():
            unfinished = template.with_name(f"unfinished-{name}.duckdb")
            unfinished.unlink(missing_ok=True)
            make(unfinished)
            unfinished.rename(template)
    shutil.copyfile(template, path)
