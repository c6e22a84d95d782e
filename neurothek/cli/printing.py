"""Answers on stdout: tables for people, rows for programs."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import click

from neurothek.catalog.spelling import escape_controls
from neurothek.catalog.terminal.console import console, say_in_the_answer

if TYPE_CHECKING:
    import polars as pl

    from neurothek.cli.options import Format


ROWS_IN_A_TABLE = 1000
"""Rows that a table shows unless more are asked for; it says how many it leaves out."""


class AnswerTable(Protocol):
    """One table of an answer."""

    @property
    def title(self) -> str:
        """What it shows."""

    @property
    def frame(self) -> pl.DataFrame:
        """Its rows."""

    @property
    def remark(self) -> str:
        """A sentence under it, or nothing."""


def show_frame(
    frame: pl.DataFrame, output_format: Format, *, title: str | None = None, columns: Sequence[str] | None = None
) -> None:
    """Print rows to stdout: as a table for people (of `columns` only, if given) or whole and exact for programs."""
    if output_format != "table":
        print_rows([frame], output_format)
        return
    rows = frame if columns is None else frame.select(columns)
    show_rows(rows.head(ROWS_IN_A_TABLE), title)
    if n_more := max(0, frame.height - ROWS_IN_A_TABLE):
        say_in_the_answer(f"{n_more:,} more row{'s' * (n_more != 1)}; use --format csv to print all")


def show_tables(
    tables: Sequence[AnswerTable], output_format: Format, data: Mapping[str, Any], *, head: str = ""
) -> None:
    """Print an answer of several tables: all for people; JSON holds all of `data`, csv and parquet its first frame."""
    import polars as pl

    from neurothek.catalog.terminal.outputs import is_unicode, json_data

    if output_format == "json":
        click.echo(json.dumps(json_data(data), ensure_ascii=not is_unicode(_encoding())))
        return
    if output_format != "table":
        print_rows([next(part for part in data.values() if isinstance(part, pl.DataFrame))], output_format)
        return
    if head:
        say_in_the_answer(head)
    for number, table in enumerate(tables):
        if number or head:
            click.echo()
        show_frame(table.frame, "table", title=table.title)
        for line in filter(None, table.remark.split("\n")):
            say_in_the_answer(line)


def print_rows(batches: Iterable[pl.DataFrame], output_format: Format) -> None:
    """Print rows to stdout for programs, batch by batch."""
    from neurothek.catalog.terminal.outputs import encode_rows

    require_no_terminal(output_format)
    kind: Any = output_format
    encode_rows(batches, kind, sys.stdout.buffer, encoding=_encoding())


def require_no_terminal(output_format: Format) -> None:
    """Refuse to send bytes to a terminal."""
    if output_format == "parquet" and sys.stdout.isatty():
        raise click.UsageError("parquet is not text: send it to a file, for example with > rows.parquet")


def _encoding() -> str:
    return sys.stdout.encoding or "ascii"


def show_rows(frame: pl.DataFrame, title: str | None = None) -> None:
    """Print all of the rows to stdout as a table for people, as wide as the terminal is."""
    from rich.text import Text

    from neurothek.catalog.terminal.cells import columns_of, fit

    out = console()
    print_line = functools.partial(out.print, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    if title:
        print_line(Text(escape_controls(title), style="bold"))
    if frame.is_empty():
        print_line(Text("(none)", style="dim"))
        return
    layout = fit(columns_of(frame), out.width)
    header, *rows = layout.lines()
    print_line(Text(header, style="bold underline" if not title else "underline"))
    for row in rows:
        print_line(Text(row))
    if layout.omitted:
        omitted = ", ".join(layout.omitted)
        say_in_the_answer(f"no room for {omitted}: widen the terminal, or use --format json to print all")
