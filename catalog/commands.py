"""What every command shares: its options, how tables and progress are shown; and the commands that keep the catalog."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import click

from catalog.console_commands import (
    QUIET,
    VERBOSE,
    WAREHOUSE,
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
from catalog.visible import harmless

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ROWS_IN_A_TABLE",
    "Format",
    "Size",
    "Table",
    "common_options",
    "complain",
    "console_progress",
    "detail",
    "format_option",
    "note",
    "pin",
    "progress_bars",
    "remove",
    "rename",
    "require_no_terminal",
    "say_in_the_answer",
    "show_frame",
    "show_rows",
    "show_tables",
    "warn",
    "whoever_reads",
    "write_rows",
]

Format = Literal["table", "csv", "json", "parquet"]

ROWS_IN_A_TABLE = 1000
"""Rows that a table shows unless more are asked for; what it leaves out it says."""

_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_MOST_BYTES = 2**60
"""No machine has more, and DuckDB takes no limit much above it."""

Command = Callable[..., Any]


class Size(click.ParamType[int]):
    """A size in bytes such as 4GB, 500MB or 1073741824."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes; a word that is no size is refused."""
        if isinstance(value, int):
            return value
        text = str(value).strip().lower().removesuffix("b")
        unit = _UNITS.get(text[-1:], 1)
        try:
            size = int(float(text.rstrip("kmgt")) * unit)
        except (ValueError, OverflowError):
            size = 0
        if not 0 < size <= _MOST_BYTES:
            self.fail(f"{value!r} is no size; write for example 4GB", param, ctx)
        return size


def common_options(command: Command) -> Command:
    """Add `--warehouse`, `--quiet` and `--verbose`; they act on the context and are not passed on."""
    for option in (
        click.option(
            "--warehouse",
            type=click.Path(path_type=Path, dir_okay=False),
            expose_value=False,
            callback=_use_warehouse,
            help="The DuckDB file.  [default: neurothek.duckdb, or NEUROTHEK_WAREHOUSE]",
        ),
        click.option(
            "-q", "--quiet", is_flag=True, expose_value=False, callback=_use_quiet, help="Print data and errors only."
        ),
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_use_verbose,
            help="Say also what was decided and how long it took.",
        ),
    ):
        command = option(command)
    return command


def format_option(command: Command) -> Command:
    """Add `--format`, passed on as `output_format`."""
    return click.option(
        "--format",
        "output_format",
        type=click.Choice(get_args(Format)),
        default="table",
        show_default=True,
        help="How to print the rows; csv and parquet hold the first table of an answer.",
    )(command)


class Table(Protocol):
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
        write_rows([frame], output_format)
        return
    shown = frame if columns is None else frame.select(columns)
    show_rows(shown.head(ROWS_IN_A_TABLE), title)
    if frame.height > ROWS_IN_A_TABLE:
        say_in_the_answer(f"and {frame.height - ROWS_IN_A_TABLE:,} more rows: --format csv prints all")


def show_tables(tables: Sequence[Table], output_format: Format, data: Mapping[str, Any], *, head: str = "") -> None:
    """Print an answer of several tables: all for people; JSON holds all of `data`, csv and parquet its first frame."""
    import polars as pl

    from catalog.outputs import is_unicode, records

    if output_format == "json":
        found = {name: records(part) if isinstance(part, pl.DataFrame) else part for name, part in data.items()}
        click.echo(json.dumps(found, ensure_ascii=not is_unicode(_encoding()), default=str))
        return
    if output_format != "table":
        write_rows([next(part for part in data.values() if isinstance(part, pl.DataFrame))], output_format)
        return
    if head:
        say_in_the_answer(head)
    for number, table in enumerate(tables):
        if number or head:
            click.echo()
        show_frame(table.frame, "table", title=table.title)
        for line in filter(None, table.remark.split("\n")):
            say_in_the_answer(line)


def write_rows(batches: Iterable[pl.DataFrame], output_format: Format) -> None:
    """Print rows to stdout for programs, batch by batch.

    Raises:
        NeurothekError: a batch could not be had, or not be written beside those before it.
    """
    from catalog.outputs import write_rows as write

    require_no_terminal(output_format)
    kind: Any = output_format
    write(batches, kind, sys.stdout.buffer, encoding=_encoding())


def require_no_terminal(output_format: Format) -> None:
    """Refuse to send bytes to a terminal."""
    if output_format == "parquet" and sys.stdout.isatty():
        raise click.UsageError("parquet is no text: send it to a file, for example with > rows.parquet")


def _use_warehouse(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    if value is not None:
        context.obj = dataclasses.replace(context.obj, path=value)
        context.meta[WAREHOUSE] = value


def _use_verbose(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[VERBOSE] = True


def _use_quiet(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[QUIET] = True


def _encoding() -> str:
    return sys.stdout.encoding or "ascii"


def show_rows(frame: pl.DataFrame, title: str | None = None) -> None:
    """Print all of the rows to stdout as a table for people, as wide as the terminal is."""
    from rich.text import Text

    from catalog.cells import columns_of
    from catalog.layout import fit

    out = console()
    print_line = functools.partial(out.print, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    if title:
        print_line(Text(harmless(title), style="bold"))
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
        say_in_the_answer(f"no room for {omitted}: widen the terminal, or --format json prints all")


@click.command()
@click.argument("model")
@click.option("--corpus", help="The corpus that views show for the model from now on.")
@click.option("--clusters", type=int, help="Likewise the clustering, by the number of clusters asked for.")
@common_options
@click.pass_context
def pin(ctx: click.Context, model: str, corpus: str | None, clusters: int | None) -> None:
    """Choose the corpus or the clustering that views show for MODEL."""
    from catalog import maintenance

    if corpus is None and clusters is None:
        raise click.UsageError("say what to pin: --corpus NAME, --clusters N or both")
    maintenance.pin(ctx.obj.warehouse, model, corpus, clusters=clusters)
    shown = [*([f"on {corpus}"] if corpus else []), *([f"in {clusters:,} clusters"] if clusters is not None else [])]
    note(f"{model} is shown {' and '.join(shown)}")


@click.command()
@click.argument("model")
@click.option("--family", metavar="NAME", help="The family: its models differ in size or variant only.")
@click.option("--variant", metavar="V", help='"step 1000", "seed 2", no-position, or plain for a plain size.')
@common_options
@click.pass_context
def label(ctx: click.Context, model: str, family: str | None, variant: str | None) -> None:
    """Say which family MODEL is of, and what sets it apart from the plain model of its size.

    Figures and views compare the plain sizes of a family; a variant is shown beside the plain model of its size.
    """
    from catalog.variants import described

    if family is None and variant is None:
        raise click.UsageError("say what to label: --family NAME, --variant V or both")
    now = ctx.obj.label(model, family=family, variant=variant)
    note(f"{model} is {described(now.family, now.variant)}")


@click.command()
@click.argument("model")
@click.argument("name")
@common_options
@click.pass_context
def rename(ctx: click.Context, model: str, name: str) -> None:
    """Give MODEL another NAME; the addresses of its neurons change with it."""
    from catalog import maintenance

    maintenance.rename(ctx.obj.warehouse, model, name)
    note(f"{model} is now called {name}")


@click.command()
@click.argument("model")
@click.option("--job", help="Remove only what this job measured.")
@click.option("--corpus", help="Remove only what was measured on this corpus.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
@click.pass_context
def remove(ctx: click.Context, model: str, job: str | None, corpus: str | None, yes: bool) -> None:
    """Delete MODEL and its annotations from the warehouse, or only what one job or one corpus says of it."""
    from catalog import maintenance

    what = ", ".join([f"model {model}", *([f"job {job}"] if job else []), *([f"corpus {corpus}"] if corpus else [])])
    if not yes:
        maintenance.require_removable(ctx.obj.warehouse, model, job=job, corpus=corpus)
        # A job can be run again: what people wrote is gone for good.
        n_written = 0 if job or corpus else maintenance.count_annotations(ctx.obj.warehouse, model)
        what += f" with the {n_written:,} annotations that people wrote" if n_written else ""
        click.confirm(harmless(f"Remove {what} from {ctx.obj.path}?"), abort=True, err=True)
    deleted = maintenance.remove(ctx.obj.warehouse, model, job=job, corpus=corpus)
    note(f"removed {sum(deleted.values()):,} rows of {what}")
