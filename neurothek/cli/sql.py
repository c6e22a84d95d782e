"""The command `sql`: one query, a prompt for many, or what a query is made of."""

from __future__ import annotations

import codecs
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.terminal.console import complain, note, say_in_the_answer, warn
from neurothek.cli.options import Format, Size, common_options, format_option, pass_warehouse
from neurothek.cli.printing import ROWS_IN_A_TABLE, print_rows, require_no_terminal, show_rows, show_tables
from neurothek.queries.errors.refused_sql import failed_query, stopped_halfway

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from neurothek.queries.sql.processes import Limits


_BEGINS_WITH_A_COMMENT = re.compile(r"--(?![\w-]+=)[^\n]*\s")
"""An option has no blank but in its value, and no line has two words and is one."""


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a file begins that Windows' shell wrote."""


CUT = 3
"""Exit code of rows that are right and not all, as was asked for."""

_HELD_BACK_BYTES = 4_000_000


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
@click.option(
    "--explain", is_flag=True, help="Show the views and tables the query reads and where its columns come from."
)
@click.option("--corpus", metavar="NAME", help="Show this corpus in all views.  [default: each model's shown corpus]")
@click.option("--seconds", type=float, help="Time limit.  [default: 30]")
@click.option("--memory", "memory_bytes", type=Size(), help="Memory limit.  [default: 1.5GB]")
@click.option("--rows", type=int, help="Maximum number of rows.  [default: all; 1000 in a table]")
@format_option
@common_options
@pass_warehouse
def sql(
    warehouse: Neurothek,
    /,
    query: str | None,
    explain: bool,
    corpus: str | None,
    output_format: Format,
    **bounds: Any,
) -> None:
    """Run one SQL QUERY, or - for stdin, on the views (see `neurothek views`) and the tables of the schema store.

    Without QUERY, the command opens a prompt: end each query with a semicolon, press Tab to complete names and Ctrl-D
    to leave. Queries are read-only: each runs in its own process, which can reach nothing but the warehouse and is
    stopped at its limits.

    A table shows the first rows and the number left out; csv, json and parquet stream all rows. Exit code 2 means that
    there is no answer or that the output is incomplete; 3 means that --rows cut it off.

    With --corpus, every view shows that corpus, as if it were pinned. Tables of the store hold all corpora, except
    store.neuron_facts, which holds only the shown ones; queries on it are refused.
    """
    from neurothek.queries.sql.processes import Limits

    limits = replace(Limits(), **{name: value for name, value in bounds.items() if value is not None})
    if query is None and _is_at_a_terminal():
        _prompt(warehouse, output_format, limits, corpus)
        return
    text = _piped() if query in (None, "-") else str(query)
    if explain:
        explained = warehouse.explain(text)
        show_tables(explained.sections(), output_format, explained.data())
    else:
        click.get_current_context().exit(_answer(warehouse, text, output_format, limits, corpus))


def _piped() -> str:

    written = sys.stdin.buffer.read()
    if written.startswith(_UTF_16):
        raise failed_query("its text is UTF-16; save it as UTF-8")
    try:
        return written.decode()
    except UnicodeDecodeError as error:
        raise failed_query("its text is not UTF-8") from error


def _is_at_a_terminal() -> bool:
    return sys.stdin.isatty()


def _answer(warehouse: Neurothek, query: str, output_format: Format, limits: Limits, corpus: str | None) -> int:
    """Print an answer; the exit code says whether `--rows` cut one that does not say so itself."""
    if output_format == "table":
        _show(warehouse, query, limits, corpus)
        return 0
    require_no_terminal(output_format)
    return _write(warehouse, query, output_format, limits, corpus)


def _show(warehouse: Neurothek, query: str, limits: Limits, corpus: str | None) -> None:
    answer = warehouse.ask(query, limits=replace(limits, rows=limits.rows or ROWS_IN_A_TABLE), corpus=corpus)
    show_rows(answer.frame)
    if answer.is_truncated:
        more = "more" if answer.n_rows is None else f"{answer.n_rows - answer.frame.height:,} more"
        say_in_the_answer(f"{more} rows; use --format csv to print all, or --rows N to print the first N")


def _write(warehouse: Neurothek, query: str, output_format: Format, limits: Limits, corpus: str | None) -> int:
    from neurothek.queries.sql.run import stream_people

    with stream_people(warehouse.warehouse, query, limits=limits, corpus=corpus) as answer:
        whole = _HeldBack(answer)
        try:
            print_rows(whole, output_format)
        except NeurothekError as error:
            if not whole.n_written:
                raise
            raise stopped_halfway(error, whole.n_written) from error
    if not answer.is_truncated:
        return 0
    of = "more" if answer.n_rows is None else f"{answer.n_rows:,}"
    warn(f"showing the first {answer.n_read:,} of {of} rows; omit --rows to print all")
    return CUT


class _HeldBack:
    """Rows that wait for the first megabytes of them, or for their end: a short answer is printed whole or not at all.

    Attributes:
        n_written: how many rows were handed on.
    """

    def __init__(self, rows: Iterable[pl.DataFrame]) -> None:
        self.n_written = 0
        self._rows = rows

    def __iter__(self) -> Iterator[pl.DataFrame]:
        waiting: list[pl.DataFrame] = []
        n_bytes = 0
        for frame in self._rows:
            waiting.append(frame)
            n_bytes += int(frame.estimated_size())
            while waiting and n_bytes > _HELD_BACK_BYTES:
                yield self._written(waiting.pop(0))
        while waiting:
            yield self._written(waiting.pop(0))

    def _written(self, frame: pl.DataFrame) -> pl.DataFrame:
        self.n_written += frame.height
        return frame


def _prompt(warehouse: Neurothek, output_format: Format, limits: Limits, corpus: str | None) -> None:
    from neurothek.catalog.problems import NeurothekError
    from neurothek.queries.ask.parse_tree import known_relations
    from neurothek.queries.sql.prompt import converse, history_file

    relations = known_relations()

    def answer(query: str) -> None:
        try:
            _answer(warehouse, query, output_format, limits, corpus)
        except NeurothekError as error:
            complain(error)
        except KeyboardInterrupt:
            note("stopped")

    note("End each query with a semicolon. Tab completes names, Ctrl-D leaves.")
    converse(relations, answer, history=history_file())
