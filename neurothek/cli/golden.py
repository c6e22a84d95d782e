"""The command `golden`: published numbers beside what is found here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.terminal.console import console_progress, note
from neurothek.cli.options import Format, format_option, pass_warehouse
from neurothek.cli.printing import show_frame

if TYPE_CHECKING:
    import polars as pl


_COLUMNS = ("name", "outcome", "published", "found", "tolerance", "token", "reason", "model", "source")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--download", is_flag=True, help="Fetch models and texts that are not on this machine.")
@click.option("--allow-pickle", is_flag=True, help="Allow pickled weights; loads tensors only, never code.")
@click.option("--device", type=click.Choice(("auto", "cpu", "cuda")), default="auto", show_default=True)
@format_option
@pass_warehouse
def golden(warehouse: Neurothek, /, names: tuple[str, ...], output_format: Format, **reach: Any) -> None:
    """Measure numbers that others published, and compare; exit 1 if a number disagrees.

    NAME is a published number, or a model that has some. The numbers come from papers and from other people's code:
    this project has not verified them, only a run of this command does. Models that are not in the local cache of the
    Hugging Face hub are skipped, with the reason; --download fetches them. The weights of facebook/opt-125m are
    pickled and need --allow-pickle.

    The table shows the comparison; csv, json and parquet also give the method and the command that repeats it.
    """
    from neurothek.ingest.golden import entries

    chosen = entries.asked_entries(names, entries.read_entries())
    # What takes seconds to load comes after everything that names tell.
    from neurothek.ingest.golden.checked import Reach, check_published, checked_frame, chosen_device

    reach["device"] = chosen_device(reach["device"])
    with console_progress() as progress:
        frame = checked_frame(check_published(chosen, Reach(**reach), progress=progress))
    show_frame(_readable(frame) if output_format == "table" else frame, output_format)
    counts = dict(frame.get_column("outcome").value_counts().iter_rows())
    verbs = {"agrees": "agree", "disagrees": "disagree", "skipped": "were skipped"}
    note(", ".join(f"{counts.get(outcome, 0)} {verb}" for outcome, verb in verbs.items()))
    click.get_current_context().exit(1 if counts.get("disagrees") else 0)


def _readable(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that people read; each number with six digits of its own: losses stand beside probabilities."""
    import polars as pl

    numbers = pl.col("published", "found", "tolerance")
    return frame.select(_COLUMNS).with_columns(
        numbers.map_elements(lambda value: f"{value:.6g}", return_dtype=pl.String)
    )
