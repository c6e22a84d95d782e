"""The commands that measure: `ingest` for any model, `demo` for the family that ships."""

from pathlib import Path
from typing import Any

import click

from catalog.commands import common_options, console_progress, note

JOBS = ("projections", "activity", "contexts")
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


class Bytes(click.ParamType):
    """A size such as 2GB, 500MB or 1073741824."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The size in bytes; a word that is no size is refused."""
        text = str(value).strip().lower().removesuffix("b").removesuffix("i")
        number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "")
        try:
            return int(float(number) * _UNITS[unit])
        except ValueError:
            self.fail(f"{value!r} is no size; write for example 4GB", param, ctx)


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]MODEL...")
@click.option("--job", "jobs", multiple=True, help="Measure only this job (repeatable), or all.  [default: all]")
@click.option("--corpus", "corpora", multiple=True, help="builtin, NAME=SOURCE, or a corpus of the warehouse.")
@click.option("--corpus-name", help="Name of the corpus.  [default: its domains joined by +]")
@click.option("--tokens", type=click.IntRange(1), default=200_000, show_default=True, help="Tokens per domain.")
@click.option("--sequence-length", type=click.IntRange(2), help="Ids per sequence.  [default: the model's context]")
@click.option("--no-packing", is_flag=True, help="Keep short documents apart instead of joining them.")
@click.option("--revision", help="Revision of a hub repository.")
@click.option("--allow-pickle", is_flag=True, help="Read pickled weights (tensors only, no code).")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--dtype", type=click.Choice(["float32", "bfloat16", "float16"]), default="float32", show_default=True)
@click.option("--active-above", type=float, help="Count a coefficient as active above this value.")
@click.option("--memory", type=Bytes(), help="What may be added to the process's memory.  [default: half the machine]")
@click.option("--batch-tokens", type=click.IntRange(1), default=16_384, show_default=True, help="Tokens per batch.")
@click.option("--staging", type=click.Path(path_type=Path, file_okay=False), help="Folder for unpublished rows.")
@click.option("--force", is_flag=True, help="Replace what was measured with other settings.")
@common_options
@click.pass_context
def ingest(ctx: click.Context, models: tuple[str, ...], **options: Any) -> None:
    """Measure models and publish what was measured.

    MODEL is a hub id, a local folder, or a model that ships (mini-opt-2m); NAME= gives it another name. What is
    finished is not measured again, and what was interrupted is taken up where it stopped.
    """
    from ingest.reports import ingest_all, print_reports
    from ingest.request import request_from_options

    with console_progress() as progress:
        outcomes = ingest_all(ctx.obj.warehouse, request_from_options(options), models, progress=progress)
    ctx.exit(print_reports(outcomes, ctx.obj.path, say=note))


@click.command()
@common_options
@click.pass_context
def demo(ctx: click.Context) -> None:
    """Build the warehouse of the mini-OPT family, offline, and compare its sizes."""
    from ingest import minis
    from ingest.reports import ingest_all, print_reports
    from ingest.request import IngestRequest

    with console_progress() as progress:
        outcomes = ingest_all(ctx.obj.warehouse, IngestRequest(), minis.names(), progress=progress)
    status = print_reports(outcomes, ctx.obj.path, say=note)
    ctx.obj.show_comparison()
    ctx.exit(status)
