"""What every command shares: its options, how tables and progress are shown; and the commands that keep the catalog."""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import click

from catalog.progress import Progress, Silent

if TYPE_CHECKING:
    import polars as pl
    import rich.console
    import rich.progress

Format = Literal["table", "csv", "json", "parquet"]

_QUIET, _VERBOSE = "neurothek.quiet", "neurothek.verbose"
_ROWS_IN_A_TABLE = 1000
_WIDTH_WITHOUT_TERMINAL = 120
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


def note(text: str) -> None:
    """Print a remark to stderr, unless the person asked for quiet."""
    context = click.get_current_context(silent=True)
    if context is None or not context.meta.get(_QUIET, False):
        click.echo(text, err=True)


def detail(text: str) -> None:
    """Print a remark to stderr if the person asked for more."""
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(_VERBOSE, False):
        note(text)


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
        _write(frame, output_format)
        return
    _show_table(frame if columns is None else frame.select(columns), title)


def show_tables(tables: Sequence[Table], output_format: Format, data: Mapping[str, Any], *, head: str = "") -> None:
    """Print an answer of several tables: all for people; JSON holds all of `data`, csv and parquet its first frame."""
    import polars as pl

    if output_format == "json":
        records = {name: _records(part) if isinstance(part, pl.DataFrame) else part for name, part in data.items()}
        click.echo(json.dumps(records, ensure_ascii=not _shows_unicode(), default=str))
        return
    if output_format != "table":
        _write(next(part for part in data.values() if isinstance(part, pl.DataFrame)), output_format)
        return
    if head:
        click.echo(head)
    for number, table in enumerate(tables):
        if number or head:
            click.echo()
        _show_table(table.frame, table.title)
        if table.remark:
            click.echo(table.remark)


def console(*, stderr: bool = False) -> rich.console.Console:
    """A console as wide as the terminal, which shows texts as they are: no markup, no colouring of words."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=_width())


@contextmanager
def console_progress() -> Iterator[Progress]:
    """A progress bar on stderr; silent when stderr is no terminal or the person asked for quiet."""
    context = click.get_current_context(silent=True)
    quiet = context is not None and context.meta.get(_QUIET, False)
    if quiet or not sys.stderr.isatty():
        yield Silent()
        return
    with ConsoleProgress.bars() as bars:
        yield ConsoleProgress(bars)


def progress_bars(*, shown: bool) -> AbstractContextManager[Progress]:
    """The same for who calls from Python and says whether to show any."""
    return console_progress() if shown else nullcontext(Silent())


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
        self._task = self._bars.add_task(label, total=total or None, remark="")

    def advance(self, amount: int = 1, note: str = "") -> None:
        """Count steps as done and show the remark beside the bar."""
        if self._task is not None:
            self._bars.update(self._task, advance=amount, remark=note)

    def finish(self) -> None:
        """End the task."""
        if self._task is not None:
            task = self._bars.tasks[self._bars.task_ids.index(self._task)]
            # A task of unknown length is as long as it was.
            self._bars.update(self._task, total=task.total or max(1, task.completed), remark="")
            self._bars.stop_task(self._task)
            self._task = None


def _use_warehouse(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    if value is not None:
        context.obj = dataclasses.replace(context.obj, path=value)


def _use_verbose(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[_VERBOSE] = True


def _use_quiet(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[_QUIET] = True


def _shows_unicode() -> bool:
    """Whether standard output takes every character; what does not fit would no longer be JSON once it is escaped."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def _width() -> int:
    return shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns


def _show_table(frame: pl.DataFrame, title: str | None) -> None:
    from rich.text import Text

    from catalog.cells import columns_of
    from catalog.layout import fit

    out = console()
    print_line = functools.partial(out.print, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    if title:
        print_line(Text(title, style="bold"))
    if frame.is_empty():
        print_line(Text("(none)", style="dim"))
        return
    layout = fit(columns_of(frame.head(_ROWS_IN_A_TABLE)), out.width)
    header, *rows = layout.lines()
    print_line(Text(header, style="bold underline" if not title else "underline"))
    for row in rows:
        print_line(Text(row))
    if frame.height > _ROWS_IN_A_TABLE:
        # Said even where the person asked for quiet: what is left out must not look complete.
        click.echo(f"and {frame.height - _ROWS_IN_A_TABLE:,} more rows: --format csv prints all", err=True)
    if layout.omitted:
        note(f"no room for {', '.join(layout.omitted)}: widen the terminal, or --format json prints all")


def _write(frame: pl.DataFrame, output_format: Format) -> None:
    if output_format == "json":
        text = frame.write_json()
        click.echo(text if _shows_unicode() else json.dumps(json.loads(text)))
    elif output_format == "csv":
        click.echo(_flat(frame).write_csv(), nl=False)
    elif sys.stdout.isatty():
        raise click.UsageError("parquet is no text: send it to a file, for example with > rows.parquet")
    else:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        click.echo(buffer.getvalue(), nl=False)


def _records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = json.loads(frame.write_json())
    return records


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists and structs as JSON text: CSV has no cells within cells."""
    import polars as pl

    def as_json(value: object) -> str:
        inner = value.to_list() if isinstance(value, pl.Series) else value
        return json.dumps(inner, ensure_ascii=False, default=str)

    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    return frame.with_columns(
        pl.col(name).map_elements(as_json, return_dtype=pl.String, skip_nulls=True) for name in nested
    )


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
        click.confirm(f"Remove {what} from {ctx.obj.path}?", abort=True, err=True)
    deleted = maintenance.remove(ctx.obj.warehouse, model, job=job, corpus=corpus)
    note(f"removed {sum(deleted.values()):,} rows of {what}")
