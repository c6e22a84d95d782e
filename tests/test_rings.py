"""The ring of a test follows from what it calls, and a test of the inner ring starts no process."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tests.support.rings import reaches


def _starts_a_process() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


class _Program:
    def started(self) -> None:
        _starts_a_process()


def _through_a_class() -> None:
    _Program().started()


def _inside_another() -> None:
    def runs() -> CliRunner:
        return CliRunner()

    runs()


def _adds() -> int:
    return sum((1, 2))


def test_what_starts_a_process_or_runs_a_command_is_outer() -> None:
    assert [reaches(function) for function in (_starts_a_process, _through_a_class, _inside_another)] == [True] * 3


def test_what_only_computes_is_inner() -> None:
    assert not reaches(_adds)


def test_a_process_that_nobody_foresaw_fails_where_the_inner_ring_runs_alone(request: pytest.FixtureRequest) -> None:
    if "not outer" not in request.config.option.markexpr:
        assert os.popen("true").close() is None
        return
    with pytest.raises(AssertionError, match="inner ring"):
        os.popen("true")
