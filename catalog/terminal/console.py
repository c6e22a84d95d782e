"""What every command says and how: remarks, errors, progress; as wide as the terminal, and harmless to it."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import click

from neurothek.catalog.advice import about
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.spelling import escape_controls

if TYPE_CHECKING:
    import rich.console
    import rich.progress

QUIET, VERBOSE, WAREHOUSE = "neurothek.quiet", "neurothek.verbose", "neurothek.warehouse"
"""What a person asked for, in the context's meta."""

_TERMINAL_OF_NO_WIDTH = (120, 24)
_WIDTH_OF_FILES = 10**6
"""A file has no edge: a table in it is as wide as it needs."""


def note(text: str) -> None:
    """Print a remark to stderr, unless the person asked for quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not context.meta.get(QUIET, False):
        click.echo(escape_controls(_of_this_warehouse(text)), err=True)


def warn(text: str) -> None:
    """Print to stderr, even if quiet was asked for, what the rows on stdout cannot say about themselves."""
    click.echo(escape_controls(text), err=True)


def complain(error: Exception | str) -> None:
    """Print an error's sentence to stderr, on one line whatever names it holds."""
    click.echo(escape_controls(_of_this_warehouse(f"Error: {error}")), err=True)


def _of_this_warehouse(text: str) -> str:
    """A sentence whose recommended commands name the warehouse that the person named."""
    context = click.get_current_context(silent=True)
    path = None if context is None else context.meta.get(WAREHOUSE)
    return text if path is None else about(text, path)


def detail(text: str) -> None:
    """Print a remark to stderr if the person asked for more."""
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(VERBOSE, False):
        note(text)


def say_in_the_answer(text: str) -> None:
    """Print a sentence to stdout, between the rows: what they leave out must not look complete, however quiet."""
    click.echo("\n".join(map(escape_controls, text.split("\n"))))


@contextmanager
def whoever_reads() -> Iterator[None]:
    """Print in the block for as long as the answer's reader reads; what comes after the block runs in any case."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        drop_output()


def drop_output() -> None:
    """Discard what standard output still holds, so that Python does not fail on it again when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):  # it may not be a file, as in a notebook
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def console(*, stderr: bool = False) -> rich.console.Console:
    """A console as wide as the terminal, which shows texts as they are: no markup, no colouring of words."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the command, whatever it prints: rich would end it with an exit code of its own."""
            raise  # noqa: PLE0704  (it is called where the error is handled)

    return Plain(stderr=stderr, markup=False, highlight=False, emoji=False, width=None if stderr else _width())


@contextmanager
def console_progress() -> Iterator[Progress]:
    """A progress bar on stderr; where that is no terminal, the time of each step if the person asked for more."""
    context = click.get_current_context(silent=True)
    meta = {} if context is None else context.meta
    if meta.get(QUIET, False) or not sys.stderr.isatty():
        yield StepTimes() if meta.get(VERBOSE, False) else Silent()
        return
    with ConsoleProgress.bars() as bars:
        yield ConsoleProgress(bars)


def progress_bars(*, visible: bool) -> AbstractContextManager[Progress]:
    """The same for callers from Python, who say whether to show any."""
    return console_progress() if visible else nullcontext(Silent())


class ConsoleProgress:
    """Shows one task at a time as a bar; finished tasks stay as a line."""

    def __init__(self, bars: rich.progress.Progress) -> None:
        """Draw on `bars`."""
        self._bars = bars
        self._task: rich.progress.TaskID | None = None

    @staticmethod
    def bars() -> rich.progress.Progress:
        """Bars on stderr: label, bar, steps, time left, remark."""
        from rich import progress

        return progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=24),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            progress.TextColumn("{task.fields[remark]}", markup=False, style="dim"),
            console=console(stderr=True),
        )

    def start(self, label: str, total: int) -> None:
        """Begin a task of `total` steps (0: length unknown)."""
        self.finish()
        self._task = self._bars.add_task(escape_controls(label), total=total or None, remark="")

    def advance(self, amount: int = 1, note: str = "") -> None:
        """Count steps as done and show the remark beside the bar."""
        if self._task is not None:
            self._bars.update(self._task, advance=amount, remark=escape_controls(note))

    def finish(self) -> None:
        """End the task."""
        if self._task is not None:
            task = self._bars.tasks[self._bars.task_ids.index(self._task)]
            # A task of unknown length is as long as it was.
            self._bars.update(self._task, total=task.total or max(1, task.completed), remark="")
            self._bars.stop_task(self._task)
            self._task = None


class StepTimes:
    """Prints how long each task took, once it has ended."""

    def __init__(self) -> None:
        self._label, self._started = "", 0.0

    def start(self, label: str, total: int) -> None:
        """Begin a task."""
        self.finish()
        self._label, self._started = label, time.perf_counter()

    def advance(self, amount: int = 1, note: str = "") -> None:
        """Show nothing of a task that is not done."""

    def finish(self) -> None:
        """Print the task's time."""
        if self._label:
            note(f"{self._label}: {time.perf_counter() - self._started:.1f} s")
            self._label = ""


def _width() -> int:
    """The terminal's, which COLUMNS may set; a redirected answer is printed whole unless COLUMNS is set."""
    if "COLUMNS" not in os.environ and not sys.stdout.isatty():
        return _WIDTH_OF_FILES
    return shutil.get_terminal_size(_TERMINAL_OF_NO_WIDTH).columns
