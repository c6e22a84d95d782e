"""How long a trial is waited for."""

import itertools
import subprocess
import sys
import time

import pytest

from tests.mutants import trial

BRIEF = "import time; time.sleep(0.2); raise SystemExit(3)"


def start(program: str) -> int:
    """A process that leads a group of its own and is waited for by its number alone."""
    process = subprocess.Popen([sys.executable, "-S", "-c", program], start_new_session=True)
    process.returncode = 0
    return process.pid


def test_a_trial_says_how_it_ended() -> None:
    assert trial._wait(start(BRIEF), timeout=60) == 3


def test_a_trial_that_does_not_end_is_ended() -> None:
    assert trial._wait(start("while True: pass"), timeout=0.3) is None


def test_time_in_which_everything_was_stopped_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    # From one look to the next a thousand seconds pass, of which one counts.
    clock = itertools.count(0.0, 1_000.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert trial._wait(start(BRIEF), timeout=900) == 3
