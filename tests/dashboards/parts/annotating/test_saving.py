"""Saving from a page: another process does it, and whatever becomes of that is a sentence or nothing."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.problems import Busy, NotFound
from neurothek.dashboards.parts.annotating import save_annotations

Answer = Callable[[dict[str, Any]], subprocess.CompletedProcess[bytes]]


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], list[dict[str, Any]]]:
    """Has a function stand for the process that saves; what it was asked is kept."""

    def stand_in(answer: Answer) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
            asked.append({"command": list(command), **options, "request": json.loads(options["input"])})
            return answer(options)

        monkeypatch.setattr(subprocess, "run", run)
        return asked

    return stand_in


def ended(code: int, **said: Any) -> Answer:
    return lambda _: subprocess.CompletedProcess([], code, json.dumps(said).encode(), b"")


def test_what_a_person_wrote_is_handed_over_as_it_is(answered: Callable[[Answer], list[dict[str, Any]]]) -> None:
    asked = answered(ended(0, error=None))
    lines: list[dict[str, Any]] = [{"concept": "é\n\u2028 \U0001f600", "ranks": [1, 2]}, {"concept": None}]
    assert save_annotations(Path("/a folder/w.duckdb"), lines) is None
    (one,) = asked
    assert one["request"]["annotations"] == lines
    assert one["request"]["warehouse"] == "/a folder/w.duckdb"
    assert one["command"][0] == sys.executable
    # The process finds the packages where this one does, and nothing that lies in its folder.
    assert "-P" in one["command"]
    assert one["env"]["PYTHONPATH"].split(":") == [entry for entry in sys.path if entry]
    assert one["timeout"] > one["request"]["wait_seconds"]


def test_a_problem_is_said_as_a_page_says_it(answered: Callable[[Answer], list[dict[str, Any]]]) -> None:
    busy = Busy("w.duckdb was still in use", "close it there and repeat the command", path=Path("w"))
    answered(ended(0, error=busy.to_dict()))
    assert save_annotations(Path("w"), []) == "w.duckdb was still in use; wait for that, then save again"
    other = NotFound("there is no model m", "measure it with `neurothek ingest m`", what="model", name="m")
    answered(ended(0, error=other.to_dict()))
    assert save_annotations(Path("w"), []) == (
        "there is no model m; measure it with `neurothek ingest m --warehouse w`"
    )


def test_a_process_that_ends_or_hangs_is_told(answered: Callable[[Answer], list[dict[str, Any]]]) -> None:
    answered(ended(1))
    ended_early = save_annotations(Path("w"), [])

    def hang(options: dict[str, Any]) -> subprocess.CompletedProcess[bytes]:
        raise subprocess.TimeoutExpired("python", options["timeout"])

    answered(hang)
    hung = save_annotations(Path("w"), [])
    for said in (ended_early, hung):
        assert said is not None
        assert said.endswith("save again")
    assert ended_early != hung


def test_the_process_itself_tells_what_cannot_be_saved(tmp_path: Path) -> None:
    none = tmp_path / "none here.duckdb"
    line = {"address": "m/L0N0", "concept": "c", "class": "names", "ranks": [1, 2, 3, 4], "annotator": "anna"}
    said = save_annotations(none, [line])
    assert said is not None
    assert f"--warehouse '{none}'" in said
    assert len(said.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
