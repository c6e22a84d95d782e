"""The command `sql`: one query, a prompt for many, or what a query is made of."""

from __future__ import annotations

import codecs
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import click

from catalog.commands import Format, Size, common_options, format_option, note, show_frame, show_tables

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import duckdb

    from queries.limits import Answer, Limits


_BEGINS_WITH_A_COMMENT = re.compile(r"--(?![\w-]+=)[^\n]*\s")
"""An option has no blank but in its value, and no line has two words and is one."""


class Door(Protocol):
    """What these commands need of the object that joins the packages."""

    def reader(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Lease a reader."""

    def ask(self, query: str, *, limits: Limits | None = None, corpus: str | None = None) -> Answer:
        """Answer one query within limits, of views that tell of a corpus."""


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a file begins that Windows' shell wrote."""


class QueryCommand(click.Command):
    """Takes a query that begins with a comment, which looks like an option, for what it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put such a query behind what ends the options."""
        n_options = args.index("--") if "--" in args else len(args)
        queries = [one for one in args[:n_options] if _BEGINS_WITH_A_COMMENT.match(one)]
        others = [one for one in args[:n_options] if one not in queries]
        return super().parse_args(ctx, [*others, *(["--", *queries] if queries else []), *args[n_options:]])


@click.command(cls=QueryCommand)
@click.argument("query", required=False)
@click.option("--explain", is_flag=True, help="Show the views and tables it reads, and what its columns are made of.")
@click.option("--corpus", metavar="NAME", help="Ask the views on this corpus.  [default: each model's shown corpus]")
@click.option("--seconds", type=float, help="How long it may run.  [default: 30]")
@click.option("--memory", "memory_bytes", type=Size(), help="Memory it may take.  [default: 1.5GB]")
@click.option("--rows", type=int, help="How many rows to bring.  [default: 10000]")
@format_option
@common_options
@click.pass_context
def sql(
    ctx: click.Context,
    /,
    query: str | None,
    explain: bool,
    corpus: str | None,
    output_format: Format,
    **bounds: Any,
) -> None:
    """Ask one SQL QUERY, or - for stdin, of the views (see `neurothek views`) and of the tables of the schema store.

    Without a QUERY it is a prompt: a query ends with a semicolon, Tab completes names, Ctrl-D leaves. A query only
    asks: it runs in a process of its own, which can reach nothing but the warehouse and is stopped at its limits.

    With --corpus every view tells of that corpus, as though it were pinned; tables of the store hold all of them.
    """
    from queries.limits import Limits

    limits = replace(Limits(), **{name: value for name, value in bounds.items() if value is not None})
    if query is None and _is_at_a_terminal():
        _prompt(ctx.obj, output_format, limits, corpus)
        return
    text = _piped() if query in (None, "-") else str(query)
    if explain:
        found = ctx.obj.explain(text)
        show_tables(found.sections(), output_format, found.data())
    else:
        _answer(ctx.obj, text, output_format, limits, corpus)


def _piped() -> str:
    from queries.errors import QueryFailed

    written = sys.stdin.buffer.read()
    if written.startswith(_UTF_16):
        raise QueryFailed("its text is UTF-16, and UTF-8 is read; save it so")
    try:
        return written.decode()
    except UnicodeDecodeError as error:
        raise QueryFailed("its text is no UTF-8") from error


def _is_at_a_terminal() -> bool:
    return sys.stdin.isatty()


def _answer(door: Door, query: str, output_format: Format, limits: Limits, corpus: str | None) -> None:
    answer = door.ask(query, limits=limits, corpus=corpus)
    show_frame(answer.frame, output_format)
    if answer.is_truncated:
        note(f"truncated: these are the first {answer.frame.height:,} rows; --rows brings more")


def _prompt(door: Door, output_format: Format, limits: Limits, corpus: str | None) -> None:
    from catalog.errors import NeurothekError
    from queries.prompt import converse, history_file
    from queries.sandbox import known_relations

    with door.reader() as connection:
        relations = known_relations(connection)

    def answer(query: str) -> None:
        try:
            _answer(door, query, output_format, limits, corpus)
        except NeurothekError as error:
            click.echo(f"Error: {error}", err=True)
        except KeyboardInterrupt:
            note("stopped")

    note("Ask one query at a time, ended with a semicolon; Tab completes names, Ctrl-D leaves.")
    converse(relations, answer, history=history_file())
