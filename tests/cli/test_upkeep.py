"""Commands that keep the catalog: pin, rename, remove."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from neurothek import main
from tests.support import warehouse as made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "own.duckdb"
    made.create(path)
    return path


def models(path: Path) -> dict[str, str | None]:
    result = CliRunner().invoke(main, ["models", "--warehouse", str(path), "--format", "json"], catch_exceptions=False)
    return {row["model"]: row["corpus"] for row in json.loads(result.stdout)}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing"], "nothing"),
        (["tiny-1m", "--job", "nope"], "nope"),
        (["tiny-1m", "--corpus", "nowhere"], "nowhere"),
    ],
)
def test_what_is_not_there_is_told_before_anything_is_asked(path: Path, arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["remove", *arguments, "--warehouse", str(path)], input="y\n")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert told in result.stderr
    assert "Remove" not in result.stderr


def test_pin_rename_and_remove(path: Path) -> None:
    def run(*arguments: str, answer: str = "") -> int:
        return CliRunner().invoke(main, [*arguments, "--warehouse", str(path)], input=answer).exit_code

    assert run("pin", "tiny-2m", "--corpus", "builtin") == 0
    assert models(path)["tiny-2m"] == "builtin"
    assert run("rename", "tiny-2m", "tiny-two") == 0
    assert models(path)["tiny-two"] == "builtin"
    assert run("remove", "tiny-two", answer="n\n") == 1
    assert "tiny-two" in models(path)
    assert run("remove", "tiny-two", "--yes") == 0
    assert "tiny-two" not in models(path)
    assert run("remove", "tiny-two", "--yes") == 2
    assert run("pin", "tiny-1m", "--corpus", "nothing") == 2
