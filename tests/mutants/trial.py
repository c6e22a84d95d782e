"""Tests of a mutant in a copy of the tree: the tree itself is never changed."""

import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, NoReturn

from tests.mutants.tables import ROOT, Mutant
from tests.support.libraries import LIBRARIES

Outcome = Literal["killed", "timed out", "survived"]

NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.duckdb*", "screenshots")
# A mutant may ask for any amount of memory, on a machine that somebody works at.
MOST_BYTES = 8 << 30
PATIENCE, AT_LEAST_SECONDS = 5, 60
NOBODY = "http://127.0.0.1:9"


class TestsFail(Exception):
    """Without any mutant the tests of a module do not pass."""

    def __init__(self, tests: list[str], said: str) -> None:
        super().__init__(f"no mutant is tried, because {' '.join(tests)} fail as they are:\n{said}")


@dataclass(frozen=True)
class Trial:
    """A module in a copy of the tree, whose tests pass there."""

    root: Path  # the copy
    tests: list[str]  # its test files, as paths from the root
    seconds: float  # how long they took

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
    return Path(shutil.copytree(ROOT, root / "tree", symlinks=True, ignore=NOT_COPIED))


def load_libraries() -> None:
    """Load once what takes most of the time of a trial: trials are forked."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["HF_ENDPOINT"] = NOBODY
    for library in LIBRARIES:
        import_module(library)


def _run_tests(root: Path, tests: list[str], *, timeout: float, writes_bytecode: bool) -> tuple[int | None, str]:
    """Exit status and output; no status where time ran out."""
    with tempfile.TemporaryDirectory(prefix="trial-", dir=root.parent) as folder:
        said = Path(folder) / "said"
        sys.stdout.flush()
        process = os.fork()
        if not process:
            _become_pytest(root, tests, said, writes_bytecode=writes_bytecode)
        try:
            status = _wait(process, timeout)
        finally:
            # What the tests started ends with them.
            _end_group(process)
        return status, said.read_text(errors="replace") if said.exists() else ""


def _become_pytest(root: Path, tests: list[str], said: Path, *, writes_bytecode: bool) -> NoReturn:
    status = 1
    try:
        os.setsid()
        output = os.open(said, os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.chdir(root)
        sys.path[:] = [str(root), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
        for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
            del sys.modules[name]
        os.environ |= {"PYTHONPATH": str(root), "TMPDIR": str(said.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(said.parent / "examples")
        tempfile.tempdir = None
        sys.dont_write_bytecode = not writes_bytecode
        # Here, so that nothing of it is loaded before the tree is the copy.
        import pytest  # noqa: PLC0415

        # Libraries of plugins are loaded already, and assert nothing.
        options = ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
        options += ["-n", "0", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed", "0", "--tb", "short"]
        status = int(pytest.main([*options, *tests]))
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        raise
    finally:
        os._exit(status)


def _wait(process: int, timeout: float) -> int | None:
    """A process's exit status, below 0 for the signal that ended it; None where it has not ended in so many seconds.

    Seconds in which this process was itself stopped, or the machine slept, do not count.
    """
    waited, before = 0.0, time.monotonic()
    while waited < timeout:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
        now = time.monotonic()
        waited, before = waited + min(now - before, 1.0), now
    _end_group(process)
    os.waitpid(process, 0)
    return None


def _end_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
