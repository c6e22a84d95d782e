"""The command line: every command, the warehouse that they are about, and how each ends."""

import errno
import io
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from neurothek.api.warehouse import __version__
from neurothek.api.warehouse import open as open_warehouse
from neurothek.catalog.installation import left_out
from neurothek.catalog.problems import NeurothekError, NeurothekWarning, Unavailable, memory_refused
from neurothek.catalog.spelling import escape_controls, is_text
from neurothek.catalog.terminal.console import complain, detail, drop_output, note
from neurothek.cli.annotate import annotate
from neurothek.cli.claims import claims
from neurothek.cli.compare import compare
from neurothek.cli.contents import corpora, models, runs, schema, views
from neurothek.cli.contrast import contrast
from neurothek.cli.dashboard import dashboard
from neurothek.cli.exchange import export, import_, merge
from neurothek.cli.explain import explain
from neurothek.cli.golden import golden
from neurothek.cli.ingest import demo, ingest
from neurothek.cli.intervene import intervene
from neurothek.cli.mcp import mcp
from neurothek.cli.neuron import neuron
from neurothek.cli.reproduce import reproduce
from neurothek.cli.search import search
from neurothek.cli.sql import sql
from neurothek.cli.trace import switch, trace
from neurothek.cli.train import train
from neurothek.cli.travel import copy, publish
from neurothek.cli.upkeep import check, label, pin, remove, rename, verify

_STDERR = 2


class Root(click.Group):
    """Runs a command and turns a handled error into one sentence and exit code 2."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Read what stands before the command's name; what is wrong with it is one sentence."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise _in_one_line(error) from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what the shell passes on, as long as it is text: DuckDB takes nothing else."""
        for argument in args:
            if not is_text(argument):
                click.echo(f"Error: the argument {os.fsencode(argument)!r} is not UTF-8; write it in UTF-8", err=True)
                ctx.exit(2)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a person's Ctrl-C keeps what is staged."""
        started = time.monotonic()
        try:
            with _warnings_in_one_line():
                return super().invoke(ctx)
        except click.UsageError as error:
            raise _in_one_line(error) from error
        except NeurothekError as error:
            complain(error)
            ctx.exit(2)
        except MemoryError as error:
            complain(memory_refused(error))
            ctx.exit(2)
        except ImportError as error:
            complain(_not_imported(error))
            ctx.exit(2)
        except KeyboardInterrupt:
            click.echo("\ninterrupted; finished work is kept: repeat the command to continue", err=True)
            ctx.exit(130)
        except OSError as error:
            drop_output()
            if error.errno == errno.EPIPE:
                # A reader that has seen enough, such as head. A short answer had gone before it left: that is as good.
                ctx.exit(0)
            click.echo(f"Error: {escape_controls(_refusal(error))}", err=True)
            ctx.exit(2)
        finally:
            detail(f"took {time.monotonic() - started:.2f} seconds")


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print our own warnings as sentences, without the place in the code that Python puts before them."""
    with warnings.catch_warnings():
        as_python_does = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, NeurothekWarning):
                note(f"warning: {message}")
            else:
                as_python_does(message, category, *place, **more)

        warnings.showwarning = show
        warnings.simplefilter("default", NeurothekWarning)
        yield


_NO_ROOM = ("failed to map segment", "cannot allocate memory", os.strerror(errno.ENOMEM).lower())
_FORBIDDEN = tuple(os.strerror(number).lower() for number in (errno.EPERM, errno.EACCES))


def _not_imported(error: ImportError) -> NeurothekError:
    """A library that finds no room for its code cannot be imported; nor can what is not there, or does not fit.

    Only the loader's text tells the two apart. A folder whose files may not be run is no lack of memory, though its
    libraries cannot be mapped either.
    """
    why = " ".join(str(error).split())
    text = why.lower()
    is_library = not isinstance(error, ModuleNotFoundError)
    if is_library and any(one in text for one in _NO_ROOM) and not any(one in text for one in _FORBIDDEN):
        return memory_refused(error)
    return left_out(error) or Unavailable(
        f"a part of the installation is missing or does not fit the others ({why})",
        "install neurothek again, with all that it needs, into a fresh environment; if that does not help, report this",
        what="module",
        name=error.name,
        why=why,
    )


def _in_one_line(error: click.UsageError) -> click.ClickException:
    """A mistyped command, reported like every other error; how to get help stands at the end."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error
    command = _command_of(error.ctx)
    if isinstance(error, click.NoSuchOption):
        sentence = f"`{command}` has no option {error.option_name}; {_nearest(error.possibilities)}"
    elif isinstance(error, click.NoSuchCommand):
        sentence = f"there is no command {error.command_name}; {_nearest(error.possibilities)}"
    else:
        text = " ".join(error.format_message().split()).rstrip(".")
        sentence = f"{text[:1].lower()}{text[1:]}; "
    return _WrittenWrongly(escape_controls(f"{sentence}see `{command} --help`"))


class _WrittenWrongly(click.ClickException):
    exit_code = click.UsageError.exit_code


def _nearest(names: Sequence[str] | None) -> str:
    return f"nearest: {', '.join(names)}; " if names else ""


def _command_of(context: click.Context | None) -> str:
    names = []
    while context is not None and context.parent is not None:
        names.append(context.info_name or "")
        context = context.parent
    return " ".join(["neurothek", *reversed(names)])


def _refusal(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"the answer could not be written: {reason}; free some space there, or send it elsewhere"
    return f"{error.filename} could not be read or written: {reason}; fix that, or choose another place"


def open_what_is_closed() -> None:
    """Give what a person closed (`>&-`) a place: else the next file, a warehouse, gets its number.

    Remarks go nowhere, as was asked; an answer that nobody can read is an error, as it is to other programs.
    """
    while (number := os.open(os.devnull, os.O_RDONLY)) < _STDERR:
        pass
    if number == _STDERR:
        os.close(number)
        number = os.open(os.devnull, os.O_WRONLY)
    else:
        os.close(number)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stderr = sys.stderr or open(_STDERR, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - likewise
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - likewise


def escape_what_cannot_be_shown() -> None:
    """A terminal that knows no Unicode shows a token's bytes instead of failing on it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="neurothek")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Measure the feed-forward neurons of language models, and query them.

    Begin with `neurothek demo`; then `neurothek search school`.
    """
    open_what_is_closed()
    escape_what_cannot_be_shown()
    ctx.obj = open_warehouse()


_COMMANDS: Sequence[click.Command] = (
    *(demo, ingest, train, verify, golden),
    *(
        search,
        neuron,
        compare,
        claims,
        reproduce,
        trace,
        switch,
        contrast,
        intervene,
        sql,
        dashboard,
        mcp,
        annotate,
        explain,
    ),
    *(views, schema, models, corpora, runs),
    *(pin, label, rename, remove, export, import_, merge, publish, copy, check),
)

for _command in _COMMANDS:
    main.add_command(_command)
