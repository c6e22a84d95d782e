"""Tests of a mutant in a copy of the tree: the tree itself is never changed."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.mutants.mutants import Mutant
from tests.mutants.tables import ROOT

Outcome = Literal["killed", "timed out", "survived"]

NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.duckdb*", "screenshots")
# A mutant may ask for any amount of memory, on a machine that somebody works at.
MOST_BYTES = 8 << 30
PATIENCE, AT_LEAST_SECONDS = 5, 60


class TestsFail(Exception):
    """Without any mutant the tests of a module do not pass."""

    def __init__(self, tests: list[str], said: str) -> None:
        super().__init__(f"no mutant is tried, because {' '.join(tests)} fail as they are:\n{said}")


@dataclass(frozen=True)
class Trial:
    """A module in a copy of the tree, whose tests pass there.

    Attributes:
        root: the copy.
        tests: its test files, as paths from the root.
        seconds: how long they took.
    """

    root: Path
    tests: list[str]
    seconds: float

    @classmethod
    def of(cls, root: Path, tests: list[str]) -> "Trial":
        """Run the tests once.

        Raises:
            TestsFail: they do not pass.
        """
        start = time.monotonic()
        status, said = _run_tests(root, tests, timeout=600, writes_bytecode=True)
        if status != 0:
            raise TestsFail(tests, said)
        return cls(root, tests, time.monotonic() - start)

    def outcome(self, mutant: Mutant) -> Outcome:
        """Whether the tests notice a mutant; those that no longer end do."""
        path = self.root / mutant.change.module
        before = path.read_text()
        # A file of bytecode is taken for its source's where size and second agree.
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()
        try:
            path.write_text(mutant.source)
            timeout = max(AT_LEAST_SECONDS, PATIENCE * self.seconds)
            status, _ = _run_tests(self.root, self.tests, timeout=timeout, writes_bytecode=False)
        finally:
            path.write_text(before)
        return "timed out" if status is None else "survived" if status == 0 else "killed"


def limit_memory() -> None:
    """Of this process and of all that it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, most))


def copy_tree(root: Path) -> Path:
    """What the tests read, below an empty folder."""
    return Path(shutil.copytree(ROOT, root / "tree", ignore=NOT_COPIED))


def _run_tests(root: Path, tests: list[str], *, timeout: float, writes_bytecode: bool) -> tuple[int | None, str]:
    """Exit status and output; no status where time ran out."""
    options = ["-n", "0", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed", "0", "--tb", "short"]
    environment = os.environ | {
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "" if writes_bytecode else "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(root.parent / "examples"),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            # What the tests started ends with them.
            _end_group(process.pid)
    shutil.rmtree(root.parent / "examples", ignore_errors=True)
    return process.returncode, said


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
