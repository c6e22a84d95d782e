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
    from neurothek.catalog.tables.foreign import ForeignKind


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
@click.option(
    "--from",
    "kind",
    type=click.Choice(["neuronpedia", "gluscope", "openai", "neuron-lens"]),
    help="Import somebody else's catalog of neurons, as what they say, beside what was measured here.",
)
@click.option("--model", metavar="NAME", help="With --from: the model here, if it is called otherwise there.")
@common_options
@pass_warehouse
def import_(warehouse: Neurothek, folder: Path, kind: ForeignKind | None, model: str | None) -> None:
    """Import an exported FOLDER into a new or empty warehouse; does nothing if the rows are already there.

    With --from, FOLDER is somebody else's catalog of a model that is in the warehouse: an export of Neuronpedia, a
    dataset of GLUScope, or the public data of OpenAI's neuron explainer. It becomes foreign tables, and the view
    foreign_agreement says how far these agree with what was measured.
    """
    if kind is not None:
        _import_foreign(warehouse, folder, kind, model)
        return
    if model is not None:
        raise click.UsageError("--model goes with --from: an export brings its models with it")
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
    n, n_foreign = merged.n_annotations, merged.n_foreign
    noted = f", {n:,} annotation{'' if n == 1 else 's'}" if n else ""
    noted += f", {n_foreign:,} foreign catalog{'' if n_foreign == 1 else 's'}" if n_foreign else ""
    note(f"{warehouse.path} received {models}{more}: {merged.n_runs:,} runs, {merged.n_rows:,} rows{noted}")
    for name, label in merged.labels.items():
        counted = f"{other} labels {name} as {described(label.family, label.variant)}, which was not adopted"
        again = command_line("label", name, "--family", label.family, "--variant", label.variant or PLAIN)
        note(f"{counted}; use `{again}` to adopt it")
    for again, n_lost in Counter(one.again() for one in merged.missing_maps).items():
        note(f"kept matrices missing or changed beside both warehouses: {n_lost:,}; recreate them with `{again}`")


def _import_foreign(warehouse: Neurothek, folder: Path, kind: ForeignKind, model: str | None) -> None:
    with console_progress() as progress:
        imported = warehouse.import_foreign(folder, kind, model=model, progress=progress)
    if not imported.is_new:
        note(f"{imported.catalog} is in the warehouse already: {imported.n_neurons:,} neurons of {imported.model}")
        return
    tokens = f", {imported.n_matched:,} of {imported.n_tokens:,} tokens matched" if imported.n_tokens else ""
    counted = f"{imported.n_neurons:,} neurons and {imported.n_explanations:,} explanations of {imported.model}"
    note(f"imported {counted}{tokens}, as {imported.catalog}")
    look = command_line("sql", "from foreign_catalogs")
    note(f"how far it agrees with what was measured: `{look}`")


def _maps(manifest: Manifest) -> str:
    """How many matrices went with the rows, and how many could not."""
    if not manifest.maps and not manifest.missing_maps:
        return ""
    n_lost = len(manifest.missing_maps)
    lost = f" ({n_lost:,} more were missing beside the warehouse, or changed)" if n_lost else ""
    return f" and {len(manifest.maps):,} kept {'matrix' if len(manifest.maps) == 1 else 'matrices'}{lost}"
