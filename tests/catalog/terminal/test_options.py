"""What commands share: options on the context, progress on stderr, formats on stdout; and keeping the catalog."""

import io
import json
from dataclasses import dataclass
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner
from rich.console import Console

from catalog.progress import Silent
from catalog.terminal.console import ConsoleProgress, console_progress, note
from catalog.terminal.options import Format, common_options, format_option
from catalog.terminal.printing import show_frame
from neurothek import main
from tests.support import warehouse as made


@dataclass(frozen=True)
class Root:
    path: Path


@click.group()
@click.pass_context
def root(ctx: click.Context) -> None:
    ctx.obj = Root(Path("default.duckdb"))


@root.command()
@format_option
@common_options
@click.pass_context
def show(ctx: click.Context, output_format: Format) -> None:
    note(f"reading {ctx.obj.path}")
    show_frame(pl.DataFrame({"token": [" a"], "n": [[1, 2]]}), output_format, title="rows", columns=("token",))


def test_options_act_on_the_context() -> None:
    assert CliRunner().invoke(root, ["show"]).stderr == "reading default.duckdb\n"
    assert CliRunner().invoke(root, ["show", "--warehouse", "x.duckdb"]).stderr == "reading x.duckdb\n"
    quiet = CliRunner().invoke(root, ["show", "-q"])
    assert (quiet.stdout, quiet.stderr) == ("rows\ntoken\n·a\n", "")


def test_formats_other_than_table_are_whole_and_exact() -> None:
    def run(output_format: str) -> bytes:
        return CliRunner().invoke(root, ["show", "-q", "--format", output_format], catch_exceptions=False).stdout_bytes

    assert json.loads(run("json")) == [{"token": " a", "n": [1, 2]}]
    assert run("csv") == b'token,n\n a,"[1, 2]"\n'
    assert pl.read_parquet(io.BytesIO(run("parquet"))).to_dicts() == [{"token": " a", "n": [1, 2]}]


def test_parquet_is_not_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(click.UsageError, match="send it to a file"):
        show_frame(pl.DataFrame({"a": [1]}), "parquet")


def test_no_rows_are_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    show_frame(pl.DataFrame({"a": []}), "table")
    assert capsys.readouterr().out == "(none)\n"


def test_progress_is_silent_when_stderr_is_no_terminal() -> None:
    with console_progress() as progress:
        assert isinstance(progress, Silent)


def test_progress_draws_one_task_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = io.StringIO()
    monkeypatch.setattr(
        "catalog.terminal.console.console", lambda *, stderr=False: Console(file=drawn, force_terminal=True, width=100)
    )
    with ConsoleProgress.bars() as bars:
        progress = ConsoleProgress(bars)
        progress.advance()
        progress.start("projecting [1]", 3)
        progress.advance(2, "layer 1")
        progress.start("length unknown", 0)
        progress.advance()
        progress.finish()
    assert [task.description for task in bars.tasks] == ["projecting [1]", "length unknown"]
    assert [task.completed for task in bars.tasks] == [2, 1]
    assert "projecting [1]" in drawn.getvalue()


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
