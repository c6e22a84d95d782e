"""The commands that carry a warehouse elsewhere and back: a folder of Parquet files, and somebody else's file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neurothek.api.warehouse import Neurothek
from neurothek.catalog.advice import command_line
from neurothek.catalog.terminal.console import console_progress, note
from neurothek.cli.options import UserPath, common_options, pass_warehouse

if TYPE_CHECKING:
    from neurothek.catalog.exchange.manifest import Manifest


@click.command()
@click.argument("folder", type=UserPath())
@click.option(
    "--dialect",
    "dialects",
    multiple=True,
    metavar="NAME",
    help="Also write the views in this SQL dialect, e.g. trino. Spark SQL, the tested one, is always written.",
)
@common_options
@pass_warehouse
def export(warehouse: Neurothek, folder: Path, dialects: tuple[str, ...]) -> None:
    """Export the warehouse to a new FOLDER: tables as Parquet, views as SQL for Spark and other engines."""
    with console_progress() as progress:
        manifest = warehouse.export(folder, dialects=dialects, progress=progress)
    note(f"exported {manifest.n_rows:,} rows of {len(manifest.tables)} tables{_maps(manifest)} to {folder}")


@click.command("import")
@click.argument("folder", type=UserPath())
@common_options
@pass_warehouse
def import_(warehouse: Neurothek, folder: Path) -> None:
    """Import an exported FOLDER into a new or empty warehouse; does nothing if the rows are already there."""
    with console_progress() as progress:
        manifest = warehouse.import_(folder, progress=progress)
    note(f"imported {manifest.n_rows:,} rows of {len(manifest.tables)} tables{_maps(manifest)} into {warehouse.path}")


@click.command()
@click.argument("other", type=UserPath())
@common_options
@pass_warehouse
def merge(warehouse: Neurothek, other: Path) -> None:
    """Add the models, texts, runs and annotations of the warehouse OTHER to this one, without duplicates.

    A model that is in both keeps its family and variant from this warehouse.
    """
    from collections import Counter

    from neurothek.catalog.variants import PLAIN, described

    with console_progress() as progress:
        merged = warehouse.merge(other, progress=progress)
    new = "new model" if len(merged.models) == 1 else "new models"
    models = f"{len(merged.models):,} {new} ({', '.join(merged.models)})" if merged.models else "no new models"
    more = f" and more of {', '.join(merged.extended)}" if merged.extended else ""
    n = merged.n_annotations
    noted = f", {n:,} annotation{'' if n == 1 else 's'}" if n else ""
    note(f"{warehouse.path} received {models}{more}: {merged.n_runs:,} runs, {merged.n_rows:,} rows{noted}")
    for name, label in merged.labels.items():
        counted = f"{other} labels {name} as {described(label.family, label.variant)}, which was not adopted"
        again = command_line("label", name, "--family", label.family, "--variant", label.variant or PLAIN)
        note(f"{counted}; use `{again}` to adopt it")
    for again, n_lost in Counter(one.again() for one in merged.missing_maps).items():
        note(f"kept matrices missing or changed beside both warehouses: {n_lost:,}; recreate them with `{again}`")


def _maps(manifest: Manifest) -> str:
    """How many matrices went with the rows, and how many could not."""
    if not manifest.maps and not manifest.missing_maps:
        return ""
    n_lost = len(manifest.missing_maps)
    lost = f" ({n_lost:,} more were missing beside the warehouse, or changed)" if n_lost else ""
    return f" and {len(manifest.maps):,} kept {'matrix' if len(manifest.maps) == 1 else 'matrices'}{lost}"
