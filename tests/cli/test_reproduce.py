"""The command `reproduce`: what it writes, asks and refuses."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import neurothek
from tests.dashboards.papers.conftest import NAMES


def run(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(neurothek.main, ["reproduce", *arguments], input=answer)


@pytest.fixture
def copy(whole_path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole_path, tmp_path / "whole.duckdb"))


def test_what_is_measured_is_written_without_a_question(copy: Path, tmp_path: Path) -> None:
    result = run("din", *NAMES, "--to", str(tmp_path / "din"), "--no-measuring", "--warehouse", str(copy))
    assert result.exit_code == 0, result.output
    assert f"open {tmp_path / 'din' / 'index.html'}" in result.output
    assert (tmp_path / "din" / "precision.svg").is_file()


def test_a_plan_of_what_is_measured_says_that_nothing_is_missing(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neurothek.Neurothek, "lacking", lambda *_, **__: [])
    for more, text in ((), ""), (("--corpus", "builtin"), " on builtin"):
        result = run("din", *NAMES, "--to", str(tmp_path / "din"), "--plan", *more, "--warehouse", str(copy))
        assert result.exit_code == 0, result.output
        named = ", ".join(NAMES)
        assert f"{named}: everything that the paper shows is measured{text}; nothing is missing" in result.stdout
        assert not (tmp_path / "din").exists()


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    # A model that no warehouse holds yet, which ships with the package.
    where = ("--warehouse", str(tmp_path / "new.duckdb"), "--tokens", "2000")
    result = run("din", "mini-opt-0.7m", "--to", str(tmp_path / "din"), "--plan", *where)
    assert result.exit_code == 0, result.output
    assert "mini-opt-0.7m: " in result.stdout
    assert "shortcuts" in result.stdout
    assert not (tmp_path / "din").exists()
    assert not (tmp_path / "new.duckdb").exists()


def test_a_no_measures_and_writes_nothing(tmp_path: Path) -> None:
    where = ("--warehouse", str(tmp_path / "new.duckdb"), "--tokens", "2000")
    result = run("din", "mini-opt-0.7m", "--to", str(tmp_path / "din"), *where, answer="n\n")
    assert result.exit_code == 1
    assert "Measure this?" in result.output
    assert not (tmp_path / "din").exists()
    assert not (tmp_path / "new.duckdb").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("vogta", "--to", "x"), "'vogta' is not one of 'voita', 'geva', 'din'"),
        (("voita",), "missing option '--to'"),
        (("voita", "--to", "x"), "claims are judged on one family of models"),
        (("voita", "tiny-1m", "gelu-1m", "--to", "x", "-y"), "claims are judged on one family of models"),
        (("voita", "tiny-1m", "--family", "gelu", "--to", "x", "-y"), "no model here is of the family gelu"),
        (("voita", "tiny-1m", "tiny-1", "--to", "x"), "tiny-1"),
        (("voita", "tiny-1m", "--to", "x", "--no-measuring", "--corpus", "bultin"), "bultin"),
    ],
)
def test_mistakes_are_one_sentence(arguments: tuple[str, ...], sentence: str, copy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "x"
    asked = [str(folder) if argument == "x" else argument for argument in arguments]
    result = run(*asked, "--warehouse", str(copy))
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output
    assert not folder.exists()


@pytest.mark.long
def test_what_is_missing_is_measured_and_written(tmp_path: Path) -> None:
    """From nothing to the page; the second time nothing is asked."""
    warehouse = tmp_path / "new.duckdb"
    neurothek.open(warehouse).ingest("mini-opt-0.7m", job="activity", tokens=3000)
    where = ("--to", str(tmp_path / "geva"), "--warehouse", str(warehouse))
    first = run("geva", "mini-opt-0.7m", *where, answer="y\n")
    assert first.exit_code == 0, first.output
    assert "Measure this?" in first.output
    assert "by rules" in first.output
    again = run("geva", *where)
    assert again.exit_code == 0
    assert "Measure this?" not in again.output
    corpora = neurothek.open(warehouse).sql("select distinct corpus, n_tokens from corpora")
    assert corpora.height == 1
    shown = (tmp_path / "geva" / "index.html").read_text("utf-8")
    assert "Not drawn" not in shown
