"""The command `golden`: its table, its exit codes, and what it never does."""

import json
from pathlib import Path

import pytest
from huggingface_hub import constants

from neurothek.ingest.golden import entries
from tests.support.advice import run

ENTRY = """
[[source]]
source = "transformers"
kind = "weight norm"
tolerance = 0.001
layer = 0
neuron = 0
side = "out"

[[source.entry]]
name = "tiny"
model = "{folder}"
published = {published}

[[source.entry]]
name = "absent"
model = "org/absent"
published = 1.0
"""


@pytest.fixture
def published(tiny_models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of entries in place of the one that ships: a model that is there, and one that is not."""
    path = tmp_path / "entries.toml"
    shipped = entries.read_entries
    monkeypatch.setattr(entries, "read_entries", lambda: shipped(path))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    path.write_text(ENTRY.format(folder=tiny_models["gpt2"], published=99.0))
    return path


def test_a_wrong_number_is_told_and_ends_with_exit_code_1(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The model is a folder with a long path, for which a narrow table would leave columns out.
    monkeypatch.setenv("COLUMNS", "400")
    told = run(["golden"])
    assert told.exit_code == 1, told.output
    assert told.stderr == "0 agree, 1 disagree, 1 were skipped\n"
    lines = told.stdout.splitlines()
    assert lines[1].split()[:3] == ["tiny", "disagrees", "99"]
    assert lines[2].split()[:2] == ["absent", "skipped"]
    assert "org/absent is not in the hub's cache" in lines[2]


def test_the_right_number_agrees_and_what_is_absent_does_no_harm(published: Path, tiny_models: dict[str, Path]) -> None:
    (before,) = json.loads(run(["golden", "tiny", "--format", "json"]).stdout)
    published.write_text(ENTRY.format(folder=tiny_models["gpt2"], published=before["found"]))
    told = run(["golden", "--format", "json"])
    assert told.exit_code == 0, told.output
    assert [(row["name"], row["outcome"]) for row in json.loads(told.stdout)] == [
        ("tiny", "agrees"),
        ("absent", "skipped"),
    ]
    assert run(["golden", "absent"]).exit_code == 0


def test_an_unknown_name_ends_with_exit_code_2(published: Path) -> None:
    told = run(["golden", "tyni"])
    assert told.exit_code == 2
    assert told.stderr == "Error: there is no published number named 'tyni'; nearest: tiny\n"


def test_the_help_says_that_nothing_of_it_is_verified_here() -> None:
    told = " ".join(run(["golden", "--help"]).stdout.split())
    assert "this project has not verified them, only a run of this command does" in told
