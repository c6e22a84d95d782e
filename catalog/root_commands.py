"""How every command ends: its answer, or one sentence and an exit code, whatever the output can take."""

import contextlib
import errno
import io
import os
import sys
import time

import click

from catalog.commands import detail
from catalog.errors import NeurothekError
from catalog.visible import is_text


class Root(click.Group):
    """Runs a command and turns a handled error into one sentence and exit code 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what the shell passes on, as long as it is text: DuckDB takes nothing else."""
        for argument in args:
            if not is_text(argument):
                click.echo(f"Error: the argument {os.fsencode(argument)!r} is not UTF-8; write it so", err=True)
                ctx.exit(2)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a person's Ctrl-C keeps what is staged."""
        started = time.monotonic()
        try:
            return super().invoke(ctx)
        except NeurothekError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt:
            click.echo("\ninterrupted; what was finished is kept: repeat the command to go on", err=True)
            ctx.exit(130)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # a pipe whose reader has seen enough, such as head: click ends quietly
            _drop_output()
            click.echo(f"Error: {_refusal(error)}", err=True)
            ctx.exit(2)
        finally:
            detail(f"took {time.monotonic() - started:.2f} seconds")


def _refusal(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"the answer could not be written: {reason}; make room there, or send it elsewhere"
    return f"{error.filename} could not be read or written: {reason}; mend that, or name another place"


def _drop_output() -> None:
    """Send what standard output still holds to nowhere, lest Python fails on it once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError):  # it may be no file, as in a notebook
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def escape_what_cannot_be_shown() -> None:
    """A terminal that knows no Unicode shows a token's bytes instead of failing on it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
