"""What commands say: heard or not as the person asked, on one line, and of the warehouse that was named."""

import errno
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from rich.console import Console

from neurothek.catalog.progress import Silent
from neurothek.catalog.terminal.console import (
    QUIET,
    VERBOSE,
    WAREHOUSE,
    ConsoleProgress,
    complain,
    console,
    console_progress,
    detail,
    note,
    progress_bars,
    say_in_the_answer,
    warn,
    whoever_reads,
)


@pytest.fixture
def asked() -> Iterator[dict[str, object]]:
    """What a person asked for: the meta of the command that runs."""
    with click.Context(click.Command("neurothek")) as context:
        yield context.meta


@pytest.mark.parametrize(
    ("meta", "heard"),
    [
        ({}, "nwc"),
        ({QUIET: True}, "wc"),
        ({VERBOSE: True}, "nwcd"),
        ({QUIET: True, VERBOSE: True}, "wc"),
    ],
)
def test_quiet_silences_remarks_but_no_warning_and_no_error(
    asked: dict[str, object], capsys: pytest.CaptureFixture[str], meta: dict[str, object], heard: str
) -> None:
    asked.update(meta)
    says: dict[str, Callable[[str], None]] = {"n": note, "w": warn, "c": complain, "d": detail}
    for letter, say in says.items():
        say(letter)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "".join(f"Error: {letter}\n" if letter == "c" else f"{letter}\n" for letter in heard)


def test_outside_of_a_command_remarks_are_heard_and_details_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    note("n")
    detail("d")
    assert capsys.readouterr().err == "n\n"


@pytest.mark.parametrize("say", [note, warn, complain])
def test_a_name_that_moves_the_cursor_stays_on_its_line(
    say: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    say("no model a\x1b[2Jb\nc\u202ed é 😀")
    assert capsys.readouterr().err.removeprefix("Error: ") == "no model a\\x1b[2Jb↵c\\u202ed é 😀\n"


def test_sentences_in_an_answer_keep_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    say_in_the_answer("one\ntwo\x07")
    assert capsys.readouterr().out == "one\ntwo\\x07\n"


def test_what_is_recommended_is_of_the_warehouse_that_was_named(
    asked: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    asked[WAREHOUSE] = Path("my own.duckdb")
    complain("none; run `neurothek ingest m` or `neurothek train`")
    note("see `neurothek check --warehouse other.duckdb`")
    assert capsys.readouterr().err.splitlines() == [
        "Error: none; run `neurothek ingest m --warehouse 'my own.duckdb'` or `neurothek train`",
        "see `neurothek check --warehouse other.duckdb`",
    ]


@pytest.mark.usefixtures("capsys")
def test_a_reader_who_left_ends_the_answer_and_nothing_else() -> None:
    reached = ["before"]
    with whoever_reads():
        reached.append("in the block")
        raise_(BrokenPipeError(errno.EPIPE, "Broken pipe"))
        reached.append("what nobody reads")
    assert reached == ["before", "in the block"]
    for error in (OSError(errno.ENOSPC, "full"), ValueError("mine")):
        with pytest.raises(type(error)), whoever_reads():
            raise_(error)


def raise_(error: Exception) -> None:
    raise error


def test_what_was_not_read_is_not_flushed_again_at_the_end() -> None:
    code = (
        "import sys; from neurothek.catalog.terminal.console import whoever_reads\n"
        "with whoever_reads():\n    print('x' * 10**6, flush=True)\n"
        "print('done', file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == "done\n"
    assert process.returncode == 0


def test_an_answer_is_as_wide_as_columns_say_and_a_file_has_no_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console().width == 10**6
    monkeypatch.setenv("COLUMNS", "70")
    assert console().width == 70


def test_progress_is_silent_when_stderr_is_no_terminal() -> None:
    with console_progress() as progress:
        assert isinstance(progress, Silent)


def test_times_of_steps_are_printed_where_more_was_asked_for(
    asked: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    asked[VERBOSE] = True
    with console_progress() as progress:
        progress.start("reading", 3)
        progress.advance(2, "half")
        assert capsys.readouterr().err == ""
        progress.start("writing", 0)
        progress.finish()
        progress.finish()
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r"\d+\.\d s$", "SECONDS", line) for line in lines] == ["reading: SECONDS", "writing: SECONDS"]


def test_progress_draws_one_task_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = io.StringIO()
    monkeypatch.setattr(
        "neurothek.catalog.terminal.console.console",
        lambda *, stderr=False: Console(file=drawn, force_terminal=True, width=100),
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


def test_progress_is_drawn_at_a_terminal_unless_quiet_was_asked_for(
    asked: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with console_progress() as progress:
        assert isinstance(progress, ConsoleProgress)
    with progress_bars(visible=False) as progress:
        assert isinstance(progress, Silent)
    asked[QUIET] = True
    with console_progress() as progress:
        assert isinstance(progress, Silent)


def test_a_task_that_ended_early_is_not_said_to_be_whole() -> None:
    with ConsoleProgress.bars() as bars:
        progress = ConsoleProgress(bars)
        progress.start("three steps", 3)
        progress.advance(2, "\x1b[2J")
        assert bars.tasks[0].fields["remark"] == "\\x1b[2J"
        progress.finish()
        progress.start("unknown and nothing done", 0)
        progress.finish()
        progress.finish()
    assert [(task.completed, task.total) for task in bars.tasks] == [(2, 3), (0, 1)]
